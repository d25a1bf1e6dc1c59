import type { ExportFile, ExportRequest, Skipped } from './export.js';
import { type ColumnKind, EXPORT_COLUMNS } from './export-row.js';
import { type JsonObject, type JsonValue, sha256 } from './json.js';
import { SPLITS } from './split.js';

/** What a folder of an export says of itself: the dataset card that Hugging Face `datasets` reads, and the manifest. */

export interface ExportFacts {
  readonly id: string;
  readonly tenant: string;
  readonly request: ExportRequest;
  /** Runs that ended later are not in it. */
  readonly snapshotAt: string;
  readonly runs: number;
  readonly skipped: Skipped;
  readonly files: readonly ExportFile[];
}

const CALLS = { name: 'tool_calls', list: 'json' } as const;
const MESSAGE = ['role', 'content', 'name', 'tool_call_id'] as const;

/** A column as `dataset_info` of a card writes it; `reasoning`: the field of what the model thought. */
function featureLines(name: string, kind: ColumnKind, reasoning: string | null): string[] {
  if (kind === 'text') return [`  - name: ${name}`, '    dtype: string'];
  if (kind === 'whole') return [`  - name: ${name}`, '    dtype: int64'];
  if (kind === 'real') return [`  - name: ${name}`, '    dtype: float64'];
  if (kind === 'json') return [`  - name: ${name}`, '    dtype: json'];
  const fields = kind === 'turns' ? ['from', 'value'] : [...MESSAGE, ...(reasoning === null ? [] : [reasoning])];
  return [
    ...[`  - name: ${name}`, '    list:'],
    ...fields.flatMap((field) => [`    - name: ${field}`, '      dtype: string']),
    ...(kind === 'turns' ? [] : [`    - name: ${CALLS.name}`, `      list: ${CALLS.list}`]),
  ];
}

const inSplit = (files: readonly ExportFile[], split: string): readonly ExportFile[] =>
  files.filter((file) => file.split === split);

const sum = (files: readonly ExportFile[], of: (file: ExportFile) => number): number =>
  files.reduce((total, file) => total + of(file), 0);

/** The card, `README.md`: its head is what `datasets` reads. */
export function datasetCard({ id, request, snapshotAt, runs, skipped, files }: ExportFacts): string {
  const { format, filters, options } = request;
  const splits = SPLITS.filter((split) => inSplit(files, split).length > 0);
  const head = [
    'configs:',
    '- config_name: default',
    '  data_files:',
    ...splits.flatMap((split) => [`  - split: ${split}`, `    path: data/${split}-*`]),
    'dataset_info:',
    '  features:',
    ...Object.entries(EXPORT_COLUMNS[format]).flatMap(([name, kind]) => featureLines(name, kind, options.reasoningKey)),
    '  splits:',
    ...splits.flatMap((split) => [
      `  - name: ${split}`,
      `    num_bytes: ${sum(inSplit(files, split), ({ sizeBytes }) => sizeBytes)}`,
      `    num_examples: ${sum(inSplit(files, split), ({ rows }) => rows)}`,
    ]),
    'tags:',
    '- agent-traces',
  ];
  const left = Object.entries(skipped).map(([why, count]) => `| ${why} | ${count} |`);
  return [
    ...['---', ...head, '---', '', '# Trajectories', ''],
    `Export \`${id}\` of Holdfast, in the format \`${format}\`: ${runs} runs that had ended by ${snapshotAt}.`,
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
  { id, tenant, request, snapshotAt, runs, skipped, files }: ExportFacts,
  card: string,
): JsonObject {
  const listed: JsonValue[] = files.map((file) => ({ ...file }));
  return {
    manifest: 1,
    export: id,
    tenant,
    request: JSON.parse(JSON.stringify(request)),
    snapshotAt,
    runs,
    skipped: { ...skipped },
    files: [...listed, { path: 'README.md', sha256: sha256(card).slice('sha256:'.length) }],
  };
}
