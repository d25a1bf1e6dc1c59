import { z } from 'zod';
import { nameText } from '../json.js';
import { errorView } from '../runs/run.js';
import type { TrajectoryResult } from '../trajectories/trajectory-result.js';
import { bucketPlaceText } from './bucket-place.js';
import { chatOptions } from './chat-row.js';
import { hubPlaceText } from './hub-place.js';
import { redaction, redactionProblems } from './redaction.js';

/** Exports of trajectories: what is asked for, and how far it is. */

export const EXPORT_FORMATS = [
  ...(['messages', 'prime-rl', 'sharegpt', 'preference', 'openai', 'inspect', 'atif', 'jsonl'] as const),
  ...(['mini-swe-agent', 'openhands'] as const),
] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** How rows are written; the name is the ending of the files, too. */
export const EXPORT_ENCODINGS = ['jsonl', 'parquet'] as const;
export type ExportEncoding = (typeof EXPORT_ENCODINGS)[number];

/** What becomes of images: a word in their place, or the images themselves. */
export const EXPORT_MEDIA = ['placeholder', 'inline'] as const;
export type ExportMedia = (typeof EXPORT_MEDIA)[number];

export const EXPORT_STATUSES = ['queued', 'running', 'completed', 'failed', 'cancelled'] as const;
export type ExportStatus = (typeof EXPORT_STATUSES)[number];
export const isExportOver = (status: ExportStatus): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

/** Runs that are over: what still goes on would be another thing tomorrow. */
const overStatus = z.enum(['completed', 'failed', 'cancelled']);

const RESULTS = [
  'success',
  'partial_success',
  'failure',
  'timeout',
  'error',
] as const satisfies TrajectoryResult['type'][];

export const exportFilters = z
  .strictObject({
    agent: nameText.optional(),
    status: z.array(overStatus).min(1).max(3).default(['completed']).describe('How the runs ended.'),
    model: nameText.optional().describe('Only runs in which this model answered, as the log names it.'),
    result: z.array(z.enum(RESULTS)).min(1).max(5).optional().describe('What came of the runs.'),
    minReward: z.number().optional().describe('Only runs with this reward or more.'),
    maxReward: z.number().optional().describe('Only runs with this reward or less.'),
    minQuality: z.number().optional().describe('Only runs with this quality score or more.'),
    maxQuality: z.number().optional().describe('Only runs with this quality score or less.'),
    minDiversity: z.number().optional().describe('Only runs with this diversity score or more.'),
    maxDiversity: z.number().optional().describe('Only runs with this diversity score or less.'),
    tag: nameText.optional().describe('Only runs with this one of `metadata.tags`.'),
    since: z.iso.datetime({ offset: true }).optional().describe('Only runs that ended at this time or after it.'),
    until: z.iso.datetime({ offset: true }).optional().describe('Only runs that ended before this time.'),
  })
  .meta({ id: 'ExportFilters' });
export type ExportFilters = z.output<typeof exportFilters>;

/** Each part begins with a letter or a digit, so that none leads upwards or is hidden. */
const FOLDER = /^[A-Za-z0-9][\w.-]{0,99}(\/[A-Za-z0-9][\w.-]{0,99}){0,4}$/;

export const exportOptions = z
  .strictObject({
    ...chatOptions.shape,
    encoding: z
      .enum(EXPORT_ENCODINGS)
      .default('jsonl')
      .describe('How rows are written: a line of JSON each, or Parquet.'),
    media: z
      .enum(EXPORT_MEDIA)
      .default('placeholder')
      .describe(
        'What becomes of images: `[image]` in the text, or the images themselves, where the format has a place.',
      ),
    validation: z
      .number()
      .min(0)
      .max(0.5)
      .default(0)
      .describe('Which part of the tasks goes into the validation split. All runs of a task are in the same one.'),
    deduplicate: z.boolean().default(true).describe('Whether of rows that say the same the first alone is kept.'),
    minMargin: z
      .number()
      .positive()
      .max(2_000_000)
      .default(0.1)
      .describe(
        'Of `preference`: by how much the reward of the chosen run is above that of the rejected one, at least.',
      ),
    pairsPerTask: z.int().min(1).max(20).default(4).describe('Of `preference`: pairs of one task at most.'),
    license: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{0,49}$/, 'expected a name such as apache-2.0, in small letters, digits and . -')
      .optional()
      .describe('License in the dataset card, as the Hub names it.'),
    runsPerFile: z.int().min(1).max(1000).default(1000).describe('Runs in one file at most.'),
    redact: redaction.optional(),
  })
  .meta({ id: 'ExportOptions' });
export type ExportOptions = z.output<typeof exportOptions>;

/** Formats that are files of their own kind, whatever the encoding of others. */
const OWN_ENCODING: ReadonlySet<ExportFormat> = new Set(['openai', 'inspect']);

function encodingProblem(
  format: ExportFormat,
  { encoding, media }: Pick<ExportOptions, 'encoding' | 'media'>,
): { readonly option: string; readonly text: string } | null {
  if (encoding === 'parquet' && OWN_ENCODING.has(format))
    return { option: 'encoding', text: `expected jsonl: programs that read the format ${format} do not read Parquet` };
  if (media === 'placeholder' || OWN_ENCODING.has(format) || (format === 'messages' && encoding === 'parquet'))
    return null;
  const text =
    'expected placeholder: images are in the formats openai and inspect, and in messages with the encoding parquet';
  return { option: 'media', text };
}

/** The ending of the files of rows. */
export const endingOf = ({ format, options }: Pick<ExportRequest, 'format' | 'options'>): string =>
  format === 'inspect' ? 'json' : options.encoding;

/** The request of an export as it is kept: what was taken once is read whatever is refused today. */
export const recordedExport = z
  .strictObject({
    format: z.enum(EXPORT_FORMATS),
    filters: exportFilters.prefault({}),
    options: exportOptions.prefault({}),
    to: z
      .strictObject({
        folder: z
          .string()
          .regex(
            FOLDER,
            'expected names of letters, digits and _ . - with / between them, each beginning with a letter or digit',
          )
          .optional()
          .describe('A new folder in the export directory of the server.'),
        s3: bucketPlaceText
          .optional()
          .describe('A new place in an object store, `s3://bucket/prefix`, below one that the server exports to.'),
        hub: hubPlaceText
          .optional()
          .describe(
            'A dataset repository of a Hugging Face Hub or a new folder in one, `hf://datasets/owner/name`, that the server exports to.',
          ),
      })
      .refine(
        (to) => Object.values(to).filter((place) => place !== undefined).length === 1,
        'expected one of `folder`, `s3` and `hub`',
      ),
  })
  .meta({ id: 'RecordedExport' });

export const startExport = recordedExport
  .superRefine(({ format, options }, context) => {
    const problem = encodingProblem(format, options);
    if (problem !== null)
      context.addIssue({ code: 'custom', path: ['options', problem.option], message: problem.text });
    if (options.redact === undefined) return;
    for (const { at, why } of redactionProblems(options.redact))
      context.addIssue({ code: 'custom', path: ['options', 'redact', ...at], message: why });
  })
  .meta({ id: 'StartExport' });
export type StartExport = z.input<typeof startExport>;
export type ExportRequest = z.output<typeof startExport>;

/** Why runs and rows are not in an export. */
export const SKIP_REASONS = [
  ...(['duplicate', 'filtered', 'nothing_said', 'erased', 'too_large', 'deleted', 'row_changed'] as const),
  ...(['unrated', 'handed_over', 'unpaired'] as const),
] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];
export const skipped = z.partialRecord(z.enum(SKIP_REASONS), z.int());
export type Skipped = z.infer<typeof skipped>;

export const exportFile = z.object({
  path: z.string().describe('In the folder.'),
  split: z.enum(['train', 'validation']).nullable().describe('Null: no data.'),
  rows: z.int(),
  sizeBytes: z.int(),
  sha256: z.string(),
});
export type ExportFile = z.infer<typeof exportFile>;

/** How much of an export is in its store, or on its Hub. */
export const exportSending = z.object({
  files: z.int(),
  sizeBytes: z.int(),
  ofFiles: z.int(),
  ofSizeBytes: z.int(),
});
export type ExportSending = z.infer<typeof exportSending>;

export const exportView = z
  .object({
    id: z.string(),
    tenant: z.string(),
    status: z.enum(EXPORT_STATUSES),
    request: recordedExport,
    actor: z.string(),
    folder: z
      .string()
      .describe(
        'Where it is, or will be: on the disk of the worker, `s3://bucket/prefix`, or `hf://datasets/owner/name`.',
      ),
    progress: z.object({
      runs: z.int().nullable().describe('How many runs there are to look at; null: not known yet.'),
      done: z.int(),
      rows: z.int(),
      skipped,
      sending: exportSending.nullable().describe('How much is in the store; null: nothing is being sent.'),
    }),
    files: z.array(exportFile).describe('Empty until it is completed.'),
    erasedSince: z.int().describe('Runs in it that were erased or removed after it was completed.'),
    error: errorView.nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
    completedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Export' });
export type ExportView = z.infer<typeof exportView>;

export const addSkipped = (a: Skipped, b: Skipped): Skipped =>
  Object.fromEntries(
    SKIP_REASONS.flatMap((why) => {
      const sum = (a[why] ?? 0) + (b[why] ?? 0);
      return sum === 0 ? [] : [[why, sum]];
    }),
  );
