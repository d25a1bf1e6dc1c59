import { Command, Option } from 'commander';
import { z } from 'zod';
import { canonical, type JsonValue } from '../../../core/json.js';
import type { LiveReplay, ReplaySide } from '../../../core/replay/live-replay.js';
import type { ReplayDifference, ReplayReport } from '../../../core/replay/replay.js';
import { connect } from '../../connect.js';
import { idArgument, json, jsonOption, misuse, usdOption } from '../../options.js';
import { plain, print, printJson } from '../../print.js';

/** Exit codes: what differs is another thing than what cannot be compared. */
const DIVERGED = 1;
const CANNOT_REPLAY = 3;
const VALUE_CHARS = 300;

const options = z.object({
  ...{ json, from: z.string().optional(), executePure: z.boolean().default(false) },
  ...{ liveModel: z.boolean().default(false), maxUsd: z.string().optional() },
});

/** A live replay works for four minutes at most. `fetch` waits five for an answer to begin. */
const LIVE_REPLAY_TIMEOUT_MS = 300_000;

export const replayCommand = (): Command =>
  new Command('replay')
    .argument('<run>', 'id of a run', idArgument)
    .option('--from <event>', 'look only at differences from this event on: its number or its id')
    .option('--execute-pure', 'executes calls of tools that are declared deterministic again, and compares')
    .option(
      '--live-model',
      '[asks the models again](replay/live.md), with the recorded results ' +
        'of calls; this costs money. `--execute-pure` then executes calls of pure tools that ' +
        'are not recorded',
    )
    .addOption(
      new Option('--max-usd <usd>', 'what a live replay may cost at most, in dollars, such as `0.50`').argParser(
        usdOption,
      ),
    )
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const { json: asJson, from, executePure, liveModel, maxUsd } = options.parse(raw);
      if (maxUsd !== undefined && !liveModel) throw misuse('--max-usd bounds a replay with --live-model.');
      const request = {
        ...(from === undefined ? {} : { from: numberOf(id, from) }),
        ...(executePure ? { executePure } : {}),
        ...(liveModel ? { liveModel } : {}),
        ...(maxUsd === undefined ? {} : { maxUsd }),
      };
      const report = await connect().replayRun(id, request, liveModel ? { timeoutMs: LIVE_REPLAY_TIMEOUT_MS } : {});
      if (asJson) printJson(report);
      else for (const line of replayText(report)) print(line);
      if (report.result === 'diverged') process.exitCode = DIVERGED;
      if (report.result === 'cannot_replay') process.exitCode = CANNOT_REPLAY;
    });

function numberOf(runId: string, event: string): number {
  const text = event.startsWith(`${runId}:`) ? event.slice(runId.length + 1) : event;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw misuse(`Run ${runId} has no event ${event}: give the number of one, or its id.`);
}

/** What a report says, line by line. */
export function replayText(report: ReplayReport): string[] {
  const { result, events, upTo, differences, moreDifferences, executed, notCompared, reason } = report;
  if (reason !== null) return [`cannot replay: ${plain(reason.message)}`, plain(reason.hint)];
  const many = differences.length + moreDifferences;
  const what = report.live === null ? 'event' : 'answer';
  const first =
    result === 'same'
      ? `same: ${counted(events, what)}, up to event ${upTo}`
      : `diverged: ${counted(many, 'difference')}`;
  return [
    first,
    ...differences.flatMap(differenceText),
    ...(moreDifferences > 0 ? [`and ${moreDifferences} more`] : []),
    ...(executed > 0
      ? [`executed${report.live === null ? ' again' : ''}: ${counted(executed, 'call')} of pure tools`]
      : []),
    ...(report.live === null ? [] : liveText(report.live)),
    ...notCompared.map((what) => `not compared: ${plain(what)}`),
  ];
}

function liveText({ recorded, now, stopped }: LiveReplay): string[] {
  const row = (name: string, of: (side: ReplaySide) => string): string =>
    `${name.padEnd(8)}${of(recorded).padEnd(16)}${of(now)}`;
  const unused = stopped === null ? [] : stopped.unused.map((args) => `  not used  ${stopped.tool} ${shown(args)}`);
  return [
    ...(stopped === null ? [] : [`stopped at turn ${stopped.turn}: ${plain(stopped.text)}`]),
    ...(stopped === null || stopped.tool === null
      ? []
      : [plain(`  asked     ${stopped.tool} ${shown(stopped.arguments)}`)]),
    ...unused.map(plain),
    `${' '.repeat(8)}${'recorded'.padEnd(16)}now`,
    row('turns', ({ turns }) => String(turns)),
    row('tokens', ({ usage }) => String(usage.totalTokens)),
    row('dollars', ({ costUsd, unpriced }) => `${costUsd}${unpriced > 0 ? ' *' : ''}`),
    row('end', ({ end }) => end),
    ...(recorded.unpriced + now.unpriced === 0 ? [] : ['* without answers whose price is unknown']),
  ];
}

/** What a digest that differs is made of. */
const NOTES: ReadonlyMap<string, readonly string[]> = new Map([
  ['/inputDigest', ['the model is told something else than then: by its instructions, or of what came before']],
  ['/terms/tools', ['a tool or handoff has another description or schema than then']],
  ['/terms/settings', ['the model settings are not those of then']],
  ['/terms/output', ['the model is asked for another form of answer than then']],
  ['/terms/prompt', ['the provider is sent another stored prompt or conversation than then']],
]);

const differenceText = ({ seq, what, field, expected, actual }: ReplayDifference): string[] => [
  `${seq === null ? 'after the log' : `event ${seq}`}  ${plain(what)}${plain(field)}`,
  `  expected  ${shown(expected)}`,
  `  came      ${shown(actual)}`,
  ...(NOTES.get(field) ?? []).map((note) => `  ${note}`),
];

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

const shown = (value: JsonValue): string => {
  const text = typeof value === 'string' ? value : canonical(value);
  return plain(text.length > VALUE_CHARS ? `${text.slice(0, VALUE_CHARS)}…` : text);
};
