import { Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { isBucketText } from '../../../core/exports/bucket-place.js';
import { EXPORT_ENCODINGS, EXPORT_FORMATS, type StartExport, startExport } from '../../../core/exports/export.js';
import { isHubText } from '../../../core/exports/hub-place.js';
import { fieldErrorsOf, invalidRequest } from '../../../core/field-errors.js';
import { jsonObject } from '../../../core/json.js';
import { TRAJECTORY_RESULTS } from '../../../core/trajectories/trajectory-result.js';
import { connect } from '../../connect.js';
import { json, jsonObjectOption, jsonOption, timeOption, withScoreBounds } from '../../options.js';
import { print, printJson } from '../../print.js';
import { retryFor, retryOption, ServerReturn } from '../../server-return.js';
import { exportOver, printExport } from './export-progress.js';

const STATUSES = ['completed', 'failed', 'cancelled'] as const;

const options = z.object({
  json,
  format: startExport.shape.format,
  to: z.string(),
  agent: z.string().optional(),
  status: z.array(z.enum(STATUSES)).optional(),
  model: z.string().optional(),
  result: z.array(z.enum(TRAJECTORY_RESULTS)).optional(),
  minReward: z.number().optional(),
  maxReward: z.number().optional(),
  ...{ minQuality: z.number().optional(), maxQuality: z.number().optional() },
  ...{ minDiversity: z.number().optional(), maxDiversity: z.number().optional() },
  tag: z.string().optional(),
  since: z.string().optional(),
  until: z.string().optional(),
  encoding: z.enum(EXPORT_ENCODINGS).optional(),
  validation: z.number().optional(),
  deduplicate: z.boolean(),
  options: jsonObject.optional(),
  wait: z.boolean().default(false),
  retryFor,
});

function partOption(text: string): number {
  const value = /^0?\.\d{1,6}$|^0$/.test(text) ? Number(text) : Number.NaN;
  if (value <= 0.5) return value;
  throw new InvalidArgumentError('Expected a number from 0 to 0.5.');
}

export const exportCommand = (): Command =>
  withScoreBounds(
    new Command('export')
      .addOption(new Option('--format <format>', 'format of the rows').choices(EXPORT_FORMATS).makeOptionMandatory())
      .addOption(new Option('--encoding <encoding>', 'how rows are written; default: jsonl').choices(EXPORT_ENCODINGS))
      .requiredOption(
        '--to <folder>',
        'name of a new folder in the export directory of the server, s3://bucket/prefix, or hf://datasets/owner/name',
      )
      .option('--agent <agent>', 'only runs of this agent')
      .addOption(new Option('--status <status...>', 'only runs that ended so; default: completed').choices(STATUSES))
      .option('--model <model>', 'only runs in which this model answered')
      .addOption(new Option('--result <result...>', 'only runs of this result').choices(TRAJECTORY_RESULTS)),
  )
    .option('--tag <tag>', 'only runs with this tag')
    .addOption(new Option('--since <time>', 'only runs that ended at this time or after it').argParser(timeOption))
    .addOption(new Option('--until <time>', 'only runs that ended before this time').argParser(timeOption))
    .addOption(
      new Option('--validation <part>', 'part of the tasks that goes into the validation split, 0 to 0.5').argParser(
        partOption,
      ),
    )
    .option('--no-deduplicate', 'keeps rows that say the same')
    .addOption(
      new Option('--options <json>', 'more options as JSON, or @ and a file: what docs/data/export.md lists').argParser(
        jsonObjectOption,
      ),
    )
    .option(
      '--wait',
      'follows it with a progress bar, or without a terminal with a line for each ' +
        'tenth of the runs. The exit code is 1 if it failed or was cancelled',
    )
    .addOption(retryOption())
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const asked = options.parse(raw);
      const client = connect();
      const started = await client.startExport(requestOf(asked));
      if (!asked.json) print(`export ${started.id} ${started.status}`);
      const ended = asked.wait ? await exportOver(client, started, new ServerReturn(asked.retryFor)) : started;
      if (ended.status === 'failed' || ended.status === 'cancelled') process.exitCode = 1;
      if (asked.json) printJson(ended);
      else if (asked.wait) printExport(ended);
    });

/** Options of the command line go before those of `--options`. */
function requestOf(asked: z.output<typeof options>): StartExport {
  const { format, encoding, to, agent, status, model, since, until, validation, deduplicate } = asked;
  const { result, minReward, maxReward, tag } = asked;
  const { minQuality, maxQuality, minDiversity, maxDiversity } = asked;
  const scores = { minQuality, maxQuality, minDiversity, maxDiversity };
  const chosen = {
    ...(encoding === undefined ? {} : { encoding }),
    ...(validation === undefined ? {} : { validation }),
    ...(deduplicate ? {} : { deduplicate }),
  };
  const parsed = startExport.safeParse({
    format,
    filters: { agent, status, model, result, minReward, maxReward, tag, since, until, ...scores },
    options: { ...asked.options, ...chosen },
    to: isBucketText(to) ? { s3: to } : isHubText(to) ? { hub: to } : { folder: to },
  });
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  return parsed.data;
}
