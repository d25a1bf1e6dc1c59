import { Command, Option } from 'commander';
import { z } from 'zod';
import { HoldfastError } from '../../../core/errors/errors.js';
import type { AnchoredReport, AnchorReport, LogReport } from '../../../core/evidence/log-view.js';
import type { VerifyRange } from '../../../core/log/verify-log.js';
import { PAGE_LIMIT } from '../../../core/page.js';
import { RUN_STATUSES, runStatus } from '../../../core/runs/run.js';
import type { Client } from '../../client.js';
import { connect } from '../../connect.js';
import { idArgument, json, jsonOption, misuse, whole } from '../../options.js';
import { pagesOf } from '../../pages.js';
import { plain, print, printJson } from '../../print.js';

const options = z.object({
  json,
  from: z.number().optional(),
  to: z.number().optional(),
  all: z.boolean().default(false),
  status: runStatus.optional(),
  agent: z.string().optional(),
});
type Options = z.infer<typeof options>;

const SEQ_MAX = 999_999_999;

export const verifyCommand = (): Command =>
  new Command('verify')
    .argument('[runs...]', 'ids of runs', (id: string, before: readonly string[] = []) => [...before, idArgument(id)])
    .addOption(
      new Option(
        '--from <event>',
        'the first event, by its number; the log is checked from the last place before it that ' +
          'is known to be sound',
      ).argParser(whole(1, SEQ_MAX)),
    )
    .addOption(
      new Option('--to <event>', 'the last event; how the log ends is not looked at then').argParser(whole(1, SEQ_MAX)),
    )
    .option('--all', 'all runs, newest first')
    .addOption(new Option('--status <status>', 'of all runs, only those of this status').choices(RUN_STATUSES))
    .option('--agent <agent>', 'of all runs, only those of this agent')
    .addOption(jsonOption())
    .action(async (ids: readonly string[] = [], raw: unknown) => {
      const asked = options.parse(raw);
      assertOneWay(ids, asked);
      const client = connect();
      const [id = ''] = ids;
      if (asked.all) return showTotal(await verifyAll(client, asked), asked.json, true);
      if (ids.length === 1) return showOne(await client.verifyRun(id, rangeOf(asked)), asked.json);
      const reports: AnchoredReport[] = [];
      for (const one of ids) reports.push(await client.verifyRun(one));
      return showTotal(totalOf(reports), asked.json);
    });

function assertOneWay(ids: readonly string[], { all, from, to, status, agent }: Options): void {
  if (all === ids.length > 0) throw misuse('Give the ids of runs, or --all.');
  if (!all && (status !== undefined || agent !== undefined)) throw misuse('--status and --agent narrow --all.');
  if (ids.length !== 1 && (from !== undefined || to !== undefined))
    throw misuse('--from and --to are of the log of one run.');
}

const rangeOf = ({ from, to }: Options): VerifyRange => ({
  ...(from === undefined ? {} : { from }),
  ...(to === undefined ? {} : { to }),
});

/** What came of several logs. */
interface Total {
  readonly ok: boolean;
  readonly runs: number;
  readonly complete: number;
  readonly events: number;
  /** How many of them are anchored with their last event. */
  readonly anchored: number;
  /** Reports of those that do not verify. */
  readonly broken: readonly AnchoredReport[];
  /** What the log over all runs is, where all runs were verified and the token may ask; null: it was not looked at. */
  readonly log: LogReport | null;
}

const NOTHING: Total = { ok: true, runs: 0, complete: 0, events: 0, anchored: 0, broken: [], log: null };

const totalOf = (reports: readonly AnchoredReport[], before: Total = NOTHING): Total => {
  const broken = [...before.broken, ...reports.filter(({ ok }) => !ok)];
  return {
    ok: broken.length === 0,
    runs: before.runs + reports.length,
    complete: before.complete + reports.filter(({ complete }) => complete).length,
    events: reports.reduce((sum, { events }) => sum + events, before.events),
    anchored: before.anchored + reports.filter(({ anchor }) => anchor.seq > 0 && anchor.why === null).length,
    ...{ broken, log: null },
  };
};

/** The log over all runs, once, and then its runs page after page; says on a terminal how far it is. */
async function verifyAll(client: Client, { status, agent }: Options): Promise<Total> {
  const { isTTY } = process.stderr;
  const log = await logOf(client);
  let total = NOTHING;
  const read = (cursor: string | undefined) => client.verifyRuns({ limit: PAGE_LIMIT, cursor, status, agent });
  for await (const { items } of pagesOf(read)) {
    total = totalOf(items, total);
    if (isTTY) process.stderr.write(`\r${textOf(total)}, ${total.broken.length} broken`);
  }
  if (isTTY) process.stderr.write('\n');
  return { ...total, log, ok: total.ok && log?.ok !== false };
}

/** Null: the token may not ask for it. */
async function logOf(client: Client): Promise<LogReport | null> {
  try {
    return await client.verifyLog();
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'forbidden') return null;
    throw error;
  }
}

const textOf = ({ runs, events }: Total): string => `${runs} runs, ${events} events`;

function whyOf({ broken, rows }: AnchoredReport): string {
  if (broken === null) return 'it does not verify';
  const [first, ...others] = rows.map(rowText);
  const more = broken.invariant === 'copied_rows' || first === undefined ? others : [first, ...others];
  return [`event ${broken.seq}, ${broken.invariant}: ${plain(broken.what)}`, ...more].join('; ');
}

const rowText = ({ table, row, column, what }: AnchoredReport['rows'][number]): string =>
  plain(`${column === null ? '' : `${column} of `}the row ${row} of ${table}: ${what}`);

/** Up to where a signed checkpoint commits to the log, and where that one was read. */
function anchoredLine({ seq, size, outside, why }: AnchorReport): string {
  if (seq === 0) return `not anchored: ${why ?? 'no checkpoint commits to it'}`;
  const by = `anchored up to event ${seq} by a checkpoint of ${size} entries${outside ? '' : ', kept in the database alone'}`;
  return why === null ? by : `${by}; ${why}`;
}

function showOne(report: AnchoredReport, asJson: boolean): void {
  if (asJson) {
    printJson(report);
    if (!report.ok) process.exitCode = 1;
    return;
  }
  const { runId, ok, from, events, headHash, complete, payloads, states } = report;
  const [first, ...others] = report.artifacts?.wrong ?? [];
  if (first !== undefined) {
    const more = others.length === 0 ? '' : ` ${others.length} more: ${others.map(({ name }) => name).join(', ')}.`;
    throw new HoldfastError('artifact_damaged', `The log of run ${runId} is whole. ${first.what}${more}`);
  }
  if (!ok) {
    throw new HoldfastError('log_broken', `The log of run ${runId} is broken: ${whyOf(report)}`, {
      hint: `Events ${from} to ${events} are whole; ${cannotBeTrusted(report)} cannot be trusted. ${goesOn(report)}`,
    });
  }
  const erased = payloads === 'erased' ? ', its payloads are erased' : '';
  print(`ok: ${events} events, ${complete ? 'complete' : 'the run goes on'}${erased}`);
  for (const seq of states.wrong) print(`the kept state at event ${seq} does not fit the log and is not used`);
  print(`head ${headHash}`);
  print(anchoredLine(report.anchor));
  const artifacts = report.artifacts?.whole ?? 0;
  if (artifacts > 0) print(`artifacts: ${artifacts}, as the log names them`);
}

const cannotBeTrusted = ({ broken }: AnchoredReport): string =>
  broken?.invariant === 'copied_rows' ? 'the rows that are named' : 'what comes after them';

const goesOn = ({ runId, repairedBy }: AnchoredReport): string =>
  repairedBy === null ? `\`holdfast repair ${runId}\` says what is lost.` : `Run ${repairedBy} goes on for it.`;

function showTotal(total: Total, asJson: boolean, all = false): void {
  if (asJson) {
    printJson(total);
    if (!total.ok) process.exitCode = 1;
    return;
  }
  const { log } = total;
  for (const report of total.broken) print(`broken ${report.runId} ${whyOf(report)}`);
  for (const { what, runId } of log?.problems ?? [])
    print(`broken ${plain(runId === null ? what : `${runId} ${what}`)}`);
  if (!total.ok) {
    const also = log?.ok === false ? `${total.broken.length === 0 ? 'T' : ' T'}he log over all runs is broken.` : '';
    const logs = total.broken.length === 0 ? '' : `${total.broken.length} of ${total.runs} logs are broken.`;
    throw new HoldfastError('log_broken', `${logs}${also}`, {
      hint: 'Each is named above, with the first event that is broken and the invariant of docs/events.md, or with what docs/evidence/verify.md says of it.',
    });
  }
  print(`ok: ${textOf(total)}, ${total.complete} complete, ${total.anchored} anchored`);
  if (log !== null) print(`log over all runs: ${logLine(log)}`);
  else if (all) print('log over all runs: not verified, which takes a token with a role in the installation');
}

/** What was found of a log over all runs that is whole. */
export function logLine({ entries, checkpoints, size, outside }: LogReport): string {
  const signed =
    size === null ? 'no checkpoint' : `signed up to ${size}${outside ? '' : ', kept in the database alone'}`;
  return `${entries} entries, ${checkpoints} checkpoints, ${signed}`;
}
