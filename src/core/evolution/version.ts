import { z } from 'zod';
import { canonical, type JsonValue, jsonObject, jsonValue, nameText, plainText, sha256 } from '../json.js';
import { unreadableItem } from '../page.js';
import { passRateOf } from '../tasks/pass-rate.js';
import { agentPatch } from './patch.js';

/** Versions of agents that patches made, from the proposal to the end. */

const CASES_MOST = 50;

const expectation = z
  .strictObject({ equals: jsonValue.optional(), contains: z.string().min(1).max(10_000).optional() })
  .refine(
    (one) => (one.equals === undefined) !== (one.contains === undefined),
    'expected either `equals` or `contains`',
  );
export type Expectation = z.output<typeof expectation>;

/** When a version is taken back by itself. */
export const measure = z.strictObject({
  leastRate: z.number().min(0).max(1).describe('The least share of its ended runs that must have completed.'),
  minRuns: z.int().min(1).max(1000).describe('Before so many of its runs have ended nothing is judged.'),
});
export type Measure = z.output<typeof measure>;

/** What a proposal says: the input of a run of the agent `evolve`. */
export const proposal = z.strictObject({
  agent: nameText.describe('Agent of the configuration.'),
  base: z
    .string()
    .regex(/^sha256:[0-9a-f]{64}$/, 'expected the hash of a definition')
    .describe('Definition that the patch starts from.'),
  patch: agentPatch,
  reason: z.string().min(1).max(8192).overwrite(plainText).describe('Why, for the people who decide.'),
  cases: z
    .array(z.strictObject({ input: z.string().min(1).max(65_536), expect: expectation }))
    .max(CASES_MOST)
    .default([])
    .describe('Inputs that both definitions are tried with, and what the output must be.'),
  share: z.int().min(1).max(100).default(20).describe('Percent of new runs that get the version when it is approved.'),
  measure: measure.nullable().default(null),
});
export type Proposal = z.output<typeof proposal>;

const arm = z.object({
  passed: z.int(),
  of: z.int(),
  rate: z.number().nullable().describe('Null: there were no cases.'),
  low: z.number().nullable().describe('Where the interval of 95 % begins.'),
  high: z.number().nullable().describe('Where it ends.'),
  nanoUsd: z
    .string()
    .nullable()
    .describe('What the model calls cost, in billionths of a dollar. Null: a price is not known.'),
  activeMs: z.int(),
});
export type Arm = z.output<typeof arm>;

export const trialReport = z.object({
  patchDigest: z.string(),
  definitionHash: z.string().describe('Hash of the patched definition.'),
  changes: z.array(z.string()).describe('Members of the definition that the patch changes.'),
  waiting: z
    .object({
      replayed: z.int(),
      same: z.int(),
      differ: z.int(),
      refused: z.int().describe('Runs that cannot be replayed.'),
    })
    .describe(
      'What replays of the newest paused runs say under the patched definition. They keep the definition that they have.',
    ),
  before: arm,
  after: arm,
});
export type TrialReport = z.output<typeof trialReport>;

/** The agent whose runs are proposals, and its tool that makes a version live once people have approved it. */
export const EVOLUTION_AGENT = 'evolve';
export const APPLY_TOOL = 'apply_patch';

export const VERSION_STATUSES = ['proposed', 'live', 'replaced', 'rolled_back'] as const;

export const agentVersion = z
  .object({
    id: z.string().describe('Run that proposed it.'),
    agent: z.string(),
    version: z.string(),
    baseHash: z.string(),
    definitionHash: z.string(),
    status: z.enum(VERSION_STATUSES),
    share: z.int().describe('Percent of new runs.'),
    measure: measure.nullable(),
    patch: z.array(jsonObject),
    report: trialReport.nullable().describe('Null: it was not tried to its end.'),
    reportDigest: z.string().nullable().describe('Null: it was not tried to its end.'),
    actor: z.string().nullable().describe('Who changed its status or its share last; null: the engine did.'),
    reason: z.string().nullable(),
    completed: z.int().describe('Its runs that completed, of the newest 1,000 that ended.'),
    ended: z.int().describe('Its runs that completed or failed, at most 1,000.'),
    createdAt: z.iso.datetime(),
    appliedAt: z.iso.datetime().nullable(),
    endedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'AgentVersion' });
export type AgentVersion = z.output<typeof agentVersion>;

export const evolutionView = z
  .object({
    agent: z.string(),
    definitionHash: z.string().describe('Definition of the configuration, which a patch starts from.'),
    versions: z.array(agentVersion).describe('Newest first; at most 50.'),
    unreadable: z
      .array(unreadableItem)
      .exactOptional()
      .describe('Versions whose rows cannot be read, because someone changed them. Absent: there is none.'),
  })
  .meta({ id: 'Evolution' });
export type EvolutionView = z.output<typeof evolutionView>;

export const rolloutRequest = z.strictObject({
  share: z.int().min(1).max(100).describe('Percent of new runs that get the live version.'),
});
export type RolloutRequest = z.output<typeof rolloutRequest>;

export const rollbackRequest = z.strictObject({ reason: z.string().min(1).max(8192).overwrite(plainText) });
export type RollbackRequest = z.output<typeof rollbackRequest>;

/** Whether a run is among the share that gets a version. It follows from the id of the run alone. */
export const isInShare = (runId: string, share: number): boolean =>
  Number.parseInt(sha256(runId).slice(-8), 16) % 100 < share;

/** Whether a version did so badly that it is taken back. */
export const hasFallen = (of: Measure | null, completed: number, ended: number): boolean =>
  of !== null && ended >= of.minRuns && completed / ended < of.leastRate;

/** Whether an output is as a case expects. Undefined: the run gave none. */
export function meets({ equals, contains }: Expectation, output: JsonValue | undefined): boolean {
  if (output === undefined) return false;
  if (contains !== undefined) return typeof output === 'string' && output.includes(contains);
  return equals !== undefined && canonical(output) === canonical(equals);
}

/** A run of a trial, as far as it is judged. */
export interface TrialRun {
  readonly passed: boolean;
  readonly nanoUsd: string | null;
  readonly activeMs: number;
}

export function armOf(tried: readonly TrialRun[]): Arm {
  const of = tried.length;
  const passed = tried.filter((one) => one.passed).length;
  const rate = passRateOf(passed, of);
  const isPriced = tried.every(({ nanoUsd }) => nanoUsd !== null);
  return {
    ...{ passed, of, rate: rate?.value ?? null, low: rate?.low ?? null, high: rate?.high ?? null },
    nanoUsd: isPriced ? String(tried.reduce((sum, { nanoUsd }) => sum + BigInt(nanoUsd ?? 0), 0n)) : null,
    activeMs: tried.reduce((sum, { activeMs }) => sum + activeMs, 0),
  };
}
