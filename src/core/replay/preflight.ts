import { z } from 'zod';
import { canonical } from '../json.js';
import { type RunStatus, runStatus } from '../runs/run.js';
import type { ReplayDifference, ReplayReport } from './replay.js';

/** From the best to the worst. */
export const PREFLIGHT_VERDICTS = ['safe', 'needs_attention', 'would_strand'] as const;
export type PreflightVerdict = (typeof PREFLIGHT_VERDICTS)[number];

/** What a build would make of a run that is not over. */
export const preflightRun = z
  .object({
    runId: z.string(),
    tenant: z.string(),
    agent: z.string(),
    status: runStatus,
    verdict: z.enum(PREFLIGHT_VERDICTS),
    reasons: z.array(z.string()).describe('In plain words; empty where nothing is to be said.'),
    events: z.int().describe('How many events of its log were derived again.'),
  })
  .meta({ id: 'PreflightRun' });
export type PreflightRun = z.infer<typeof preflightRun>;

/** What is known of a run before its verdict. */
export interface PreflightFacts {
  readonly status: RunStatus;
  readonly agent: string;
  readonly report: ReplayReport;
  /** Number of the event that its last segment began with; 0: none has. */
  readonly lastBegan: number;
  /** The stored state that it goes on from: `none` where it goes on from its input, `other` where this SDK does not write such. */
  readonly state: 'none' | 'kept' | 'other' | 'lost';
  /** The recording version of its segment, and that of this build; null: nothing is recorded. */
  readonly version: { readonly recorded: number; readonly present: number } | null;
  /** Calls that wait for an approval, and whose tool is gone. */
  readonly withoutTool: readonly { readonly tool: string; readonly callId: string }[];
  /** Calls that wait for an approval, and would be refused by now: why. */
  readonly unfit: readonly { readonly tool: string; readonly callId: string; readonly why: string }[];
}

interface Reason {
  readonly verdict: PreflightVerdict;
  readonly text: string;
}

/** The verdict on a run, with each reason of it. */
export function judgePreflight(facts: PreflightFacts): {
  readonly verdict: PreflightVerdict;
  readonly reasons: readonly string[];
} {
  const reasons = reasonsOf(facts);
  const worst = Math.max(0, ...reasons.map(({ verdict }) => PREFLIGHT_VERDICTS.indexOf(verdict)));
  return { verdict: PREFLIGHT_VERDICTS[worst] ?? 'would_strand', reasons: reasons.map(({ text }) => text) };
}

function reasonsOf(facts: PreflightFacts): readonly Reason[] {
  const { report, agent, withoutTool, unfit } = facts;
  if (report.reason?.code === 'agent_unknown')
    return [strand(`The agent ${agent} is not in this configuration: the run fails when it goes on (agent_unknown).`)];
  const gone = withoutTool.map(({ tool, callId }) =>
    strand(`The tool ${tool} is gone, and its call ${callId} waits for a decision: it cannot run when it is approved.`),
  );
  const refused = unfit.map(({ tool, callId, why }) =>
    attention(
      `The call ${callId} of ${tool} waits for a decision, and ${why}. It cannot be approved as it is (call_unfit).`,
    ),
  );
  return [...gone, ...refused, ...versionReasons(facts), ...stateReasons(facts), ...replayReasons(facts)];
}

const strand = (text: string): Reason => ({ verdict: 'would_strand', text });
const attention = (text: string): Reason => ({ verdict: 'needs_attention', text });
const note = (text: string): Reason => ({ verdict: 'safe', text });

function versionReasons({ version, report }: PreflightFacts): readonly Reason[] {
  if (version === null || version.recorded === version.present) return [];
  const versions = `Its segment was recorded under version ${version.recorded}, and this build has ${version.present}`;
  if (version.recorded > version.present) return [strand(`${versions}: workers of this build do not take it.`)];
  return [
    isWhole(report)
      ? note(`${versions}: it is rebuilt from its log.`)
      : strand(`${versions}, and its log does not give it again.`),
  ];
}

function stateReasons({ state, report }: PreflightFacts): readonly Reason[] {
  if (state === 'none' || state === 'kept') return [];
  const what =
    state === 'lost' ? 'Its stored state is missing or damaged' : 'Its stored state is of another version of the SDK';
  if (isWhole(report)) return [note(`${what}: it is made again from the log.`)];
  const then = `${what}, and the log does not give it again`;
  return [
    state === 'lost'
      ? strand(`${then} (state_unreadable).`)
      : attention(`${then}: whether the SDK reads it is seen when it goes on.`),
  ];
}

/** Whether the log gives the state of the run again: what differs is not checked against it, but what it comes to is. */
const isWhole = (report: ReplayReport): boolean =>
  report.reason === null && report.whole && report.differences.every(isOfRequest);

const isOfRequest = ({ what }: ReplayDifference): boolean => what.startsWith('model.requested');

function replayReasons({ report, status, lastBegan, unfit }: PreflightFacts): readonly Reason[] {
  if (report.reason !== null)
    return [attention(`Its log cannot be replayed (${report.reason.code}): ${report.reason.message}`)];
  const [first] = report.differences;
  if (first === undefined) return [];
  const checks = unfit.map(({ tool, callId }) => `call.checked of ${tool} (${callId})`);
  const outset = report.differences.findIndex((one) => !isOfRequest(one));
  // What follows from the check of such a call was said.
  if (checks.includes(report.differences[outset]?.what ?? '')) return [];
  const inFlight = report.differences.find((one) => !isOfRequest(one) && (one.seq ?? lastBegan) >= lastBegan);
  if (status === 'running' && inFlight !== undefined)
    return [
      strand(`${said(inFlight)} If its segment is executed again, as after a kill, the run fails (replay_diverged).`),
    ];
  const other = report.differences.find((one) => !isOfRequest(one) || !isOfText(one));
  if (other !== undefined) return [attention(said(other))];
  return [note(`What the model is told differs since event ${first.seq ?? '?'}: it is told so from its next turn on.`)];
}

/** Another text or model is what changes of agents are made for; another set of tools may lack one that is needed. */
const isOfText = ({ field }: ReplayDifference): boolean =>
  field === '/inputDigest' || field === '/model' || field.startsWith('/terms/');

const VALUE_CHARS = 200;
const shown = (value: ReplayDifference['expected']): string => {
  const text = typeof value === 'string' ? value : canonical(value);
  return text.length > VALUE_CHARS ? `${text.slice(0, VALUE_CHARS)}…` : text;
};

const said = ({ seq, what, field, expected, actual }: ReplayDifference): string =>
  `It parts from its log at ${seq === null ? 'the end' : `event ${seq}`} (${what}${field}): expected ${shown(expected)}, came ${shown(actual)}.`;
