import { z } from 'zod';
import { type JsonObject, nameText } from '../json.js';

const TAGS_MAX = 50;

const tag = nameText.max(100);
const label = nameText.nullable().catch(null);
const seedLabel = z.int().nullable().catch(null);

/** What a run says of itself in its metadata that lists are narrowed by. What has another shape is no label. */
export function labelsOf(metadata: JsonObject): {
  readonly taskId: string | null;
  readonly tags: string[];
  readonly seed: number | null;
} {
  const { taskId = null, tags, seed = null } = metadata;
  const named = (Array.isArray(tags) ? tags : []).flatMap((one: unknown) => tag.safeParse(one).data ?? []);
  return {
    taskId: label.parse(taskId),
    tags: [...new Set(named)].slice(0, TAGS_MAX),
    seed: seedLabel.parse(seed),
  };
}
