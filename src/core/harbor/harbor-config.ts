import { z } from 'zod';
import type { JsonObject } from '../json.js';

/** `task.toml` of Harbor (harborframework.com/docs/tasks), as far as a task can say the same. Other keys are kept beside it. */

const seconds = z.number().positive().max(604_800);
const table = <T extends z.ZodRawShape>(shape: T) => z.looseObject(shape).optional();
const texts = z.array(z.string());
const env = z.record(z.string(), z.string());
const network = z.enum(['public', 'no-network', 'allowlist']);
const size = z.string().regex(/^\d+(\.\d+)?[GMK]$/i, 'is no size such as 2G');

export const harborConfig = z.looseObject({
  task: table({ name: z.string().min(1), version: z.string().optional(), keywords: texts.optional() }),
  metadata: table({
    difficulty: z.string().optional(),
    category: z.string().optional(),
    tags: texts.optional(),
    /** What a task said that Harbor cannot, as JSON. */
    holdfast: z.string().optional(),
  }),
  verifier: table({ timeout_sec: seconds.optional(), env: env.optional() }),
  agent: table({ timeout_sec: seconds.optional() }),
  environment: table({
    docker_image: z.string().min(1).optional(),
    build_timeout_sec: seconds.optional(),
    cpus: z.number().positive().optional(),
    memory_mb: z.number().positive().optional(),
    memory: size.optional(),
    network_mode: network.optional(),
    allowed_hosts: texts.optional(),
    allow_internet: z.boolean().optional(),
    env: env.optional(),
    workdir: z.string().min(1).optional(),
  }),
  steps: z.never({ error: 'holds several steps, which no task has' }).optional(),
});
export type HarborConfig = z.output<typeof harborConfig>;

/** What is read of each table. `version` and `schema_version` say which form the file has. */
const READ: Readonly<Record<string, readonly string[]>> = {
  task: ['name', 'version', 'keywords'],
  metadata: ['difficulty', 'category', 'tags', 'holdfast'],
  verifier: ['timeout_sec', 'env'],
  agent: ['timeout_sec'],
  environment: [
    ...[
      'docker_image',
      'build_timeout_sec',
      'cpus',
      'memory_mb',
      'memory',
      'network_mode',
      'allowed_hosts',
      'allow_internet',
      'env',
      'workdir',
    ],
  ],
  version: [],
  schema_version: [],
};

/** Keys that say something which a task cannot say. */
export function unreadKeys(config: JsonObject): readonly string[] {
  return Object.entries(config).flatMap(([key, value]) => {
    const read = READ[key];
    if (read === undefined) return [key];
    if (typeof value !== 'object' || value === null) return [];
    return Object.keys(value).flatMap((inner) => (read.includes(inner) ? [] : [`${key}.${inner}`]));
  });
}

/** MiB of `2G`, `512M` or `4096K`. */
export function mebibytesOf(text: string): number {
  const factor = { G: 1024, M: 1, K: 1 / 1024 }[text.slice(-1).toUpperCase()] ?? 1;
  return Math.ceil(Number(text.slice(0, -1)) * factor);
}

/** A name as tasks have it. */
export const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');

/** Both kinds of tags that Harbor has, each once. */
export const tagsIn = ({ metadata, task }: HarborConfig): readonly string[] => [
  ...new Set([...(metadata?.tags ?? []), ...(task?.keywords ?? [])]),
];
