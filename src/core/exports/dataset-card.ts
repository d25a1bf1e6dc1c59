import { z } from 'zod';
import { type JsonObject, type JsonValue, sha256 } from '../json.js';
import { datasetFields, fieldLines } from './dataset-field.js';
import { type ExportEncoding, type ExportFile, type ExportRequest, endingOf, type Skipped } from './export.js';

const SPLITS = ['train', 'validation'] as const;
type Split = (typeof SPLITS)[number];

/**
 * Which split a task is in: the first 32 bits of the SHA-256 of its key, as a part of one, are below `validation`. The same
 * task is in the same split of every export, and a larger part has what a smaller one has.
 */
export const splitOf = (task: string, validation: number): Split =>
  Number.parseInt(sha256(task).slice('sha256:'.length, 'sha256:'.length + 8), 16) / 2 ** 32 < validation
    ? 'validation'
    : 'train';

/** What a folder of an export says of itself: the dataset card that Hugging Face `datasets` reads, and the manifest. */

interface ExportFacts {
  readonly id: string;
  readonly tenant: string;
  readonly request: ExportRequest;
  /** Runs that ended later are not in it. */
  readonly snapshotAt: string;
  readonly runs: number;
  readonly skipped: Skipped;
  /** How often it was begun again because a run in it was erased. */
  readonly revision: number;
  readonly files: readonly ExportFile[];
}

const ENCODING_NAMES = { jsonl: 'JSON Lines', parquet: 'Parquet' } as const satisfies Record<ExportEncoding, string>;

const inSplit = (files: readonly ExportFile[], split: string): readonly ExportFile[] =>
  files.filter((file) => file.split === split);

const sum = (files: readonly ExportFile[], of: (file: ExportFile) => number): number =>
  files.reduce((total, file) => total + of(file), 0);

/** How many rows, as the Hub says it. */
function sizeCategoryOf(rows: number): string {
  const bounds = ['1K', '10K', '100K', '1M', '10M', '100M', '1B'] as const;
  const above = bounds.findIndex((_, index) => rows < 1000 * 10 ** index);
  if (above === 0) return 'n<1K';
  return above === -1 ? 'n>1B' : `${bounds[above - 1]}<n<${bounds[above]}`;
}

/** The card, `README.md`: its head is what `datasets` reads. */
export function datasetCard({ id, request, snapshotAt, runs, skipped, files }: ExportFacts): string {
  const { format, filters, options } = request;
  const splits = SPLITS.filter((split) => inSplit(files, split).length > 0);
  // A list of no files is null in YAML, and `datasets` refuses the card.
  const data = [
    'configs:',
    '- config_name: default',
    '  data_files:',
    ...splits.flatMap((split) => [`  - split: ${split}`, `    path: data/${split}-*.${endingOf(request)}`]),
    'dataset_info:',
    '  features:',
    ...datasetFields(format, options).flatMap((field) => fieldLines(field, '  ')),
    '  splits:',
    ...splits.flatMap((split) => [
      `  - name: ${split}`,
      `    num_bytes: ${sum(inSplit(files, split), ({ sizeBytes }) => sizeBytes)}`,
      `    num_examples: ${sum(inSplit(files, split), ({ rows }) => rows)}`,
    ]),
  ];
  const head = [
    ...(options.license === undefined ? [] : [`license: "${options.license}"`]),
    ...(splits.length === 0 || format === 'inspect' ? [] : data),
    ...['size_categories:', `- ${sizeCategoryOf(sum(files, ({ split, rows }) => (split === null ? 0 : rows)))}`],
    ...['tags:', '- agent-traces'],
  ];
  const left = Object.entries(skipped).map(([why, count]) => `| ${why} | ${count} |`);
  return [
    ...['---', ...head, '---', '', '# Trajectories', ''],
    `Export \`${id}\` of Holdfast, in the format \`${format}\`, as ${format === 'inspect' ? 'evaluation logs of Inspect' : ENCODING_NAMES[options.encoding]}: ${runs} runs that had ended by ${snapshotAt}.`,
    `How they ended: ${filters.status.join(', ')}. The digests of all files, and the head of the log of every run, are in \`manifest.json\` and \`evidence/\`.`,
    '',
    ...(splits.length === 0 ? ['There is nothing in it.', ''] : ['| Split | Rows |', '| --- | --- |']),
    ...splits.map((split) => `| ${split} | ${sum(inSplit(files, split), ({ rows }) => rows)} |`),
    ...(left.length === 0 ? [] : ['', '| Not in it, because | How many |', '| --- | --- |', ...left]),
    '',
  ].join('\n');
}

/** The manifest: what was asked for, and the digest of every other file. It is the last file that is written. */
export function exportManifest(
  { id, tenant, request, snapshotAt, runs, skipped, revision, files }: ExportFacts,
  card: string,
): JsonObject {
  const listed: JsonValue[] = files.map((file) => ({ ...file }));
  return {
    manifest: 1,
    export: id,
    revision,
    tenant,
    request: JSON.parse(JSON.stringify(request)),
    snapshotAt,
    runs,
    skipped: { ...skipped },
    files: [...listed, { path: 'README.md', sha256: sha256(card).slice('sha256:'.length) }],
  };
}

const made = z.object({ export: z.string(), revision: z.int().default(0) });
/** Which export a manifest says that it is of. */
export type Made = z.infer<typeof made>;

/** Null: it is no manifest. */
export function madeOf(manifest: string): Made | null {
  try {
    return made.safeParse(JSON.parse(manifest)).data ?? null;
  } catch {
    return null;
  }
}

/** Whether it is of this export, and of this revision if one is asked for. */
export const isMade = (there: Made | null, id: string, revision = there?.revision): boolean =>
  there !== null && there.export === id && there.revision === revision;
