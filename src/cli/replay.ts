import { Command } from 'commander';
import { z } from 'zod';
import { canonical, type JsonValue } from '../core/json.js';
import type { ReplayDifference, ReplayReport } from '../core/replay.js';
import { connect } from './connect.js';
import { idArgument, json, jsonOption, misuse } from './options.js';
import { plain, print, printJson } from './print.js';

/** Exit codes: what differs is another thing than what cannot be compared. */
const DIVERGED = 1;
const CANNOT_REPLAY = 3;
const VALUE_CHARS = 300;

const options = z.object({ json, from: z.string().optional(), executePure: z.boolean().default(false) });

export const replayCommand = (): Command =>
  new Command('replay')
    .description(
      'Hold the agents of today against the log of a run; exit code 1 if they part from it, 3 if it cannot be replayed.',
    )
    .argument('<run>', 'id of a run', idArgument)
    .option('--from <event>', 'look only at differences from this event on (its number or id)')
    .option('--execute-pure', 'execute calls of tools that are declared deterministic again, and compare')
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const { json: asJson, from, executePure } = options.parse(raw);
      const report = await connect().replayRun(id, {
        ...(from === undefined ? {} : { from: numberOf(id, from) }),
        ...(executePure ? { executePure } : {}),
      });
      if (asJson) printJson(report);
      else for (const line of replayText(report)) print(line);
      if (report.result === 'diverged') process.exitCode = DIVERGED;
      if (report.result === 'cannot_replay') process.exitCode = CANNOT_REPLAY;
    });

function numberOf(runId: string, event: string): number {
  const text = event.startsWith(`${runId}:`) ? event.slice(runId.length + 1) : event;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw misuse(`${event} is not an event of run ${runId}: give its number, or its id.`);
}

/** What a report says, line by line. */
export function replayText(report: ReplayReport): string[] {
  const { result, events, upTo, differences, moreDifferences, executed, notCompared, reason } = report;
  if (reason !== null) return [`cannot replay: ${plain(reason.message)}`, plain(reason.hint)];
  const many = differences.length + moreDifferences;
  const first = result === 'same' ? `same: ${events} events, up to event ${upTo}` : `diverged: ${many} differences`;
  return [
    first,
    ...differences.flatMap(differenceText),
    ...(moreDifferences > 0 ? [`and ${moreDifferences} more`] : []),
    ...(executed > 0 ? [`executed again: ${executed} calls of deterministic tools`] : []),
    ...notCompared.map((what) => `not compared: ${plain(what)}`),
  ];
}

const differenceText = ({ seq, what, field, expected, actual }: ReplayDifference): string[] => [
  `${seq === null ? 'after the log' : `event ${seq}`}  ${plain(what)}${plain(field)}`,
  `  expected  ${shown(expected)}`,
  `  came      ${shown(actual)}`,
];

const shown = (value: JsonValue): string => {
  const text = typeof value === 'string' ? value : canonical(value);
  return plain(text.length > VALUE_CHARS ? `${text.slice(0, VALUE_CHARS)}…` : text);
};
