import { z } from 'zod';
import type { EvolutionTerms } from '../../core/agents/evolution-terms.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { armOf, meets, type Proposal, type TrialReport, type TrialRun } from '../../core/evolution/version.js';
import { canonical, digestOf, jsonOrNull, toJson } from '../../core/json.js';
import { isOver } from '../../core/runs/run.js';
import { saveAgent } from '../../storage/agents/agents.js';
import { findVersion, insertVersion, saveReport, trialRunsOf } from '../../storage/evolution/agent-versions.js';
import { requestersOf } from '../../storage/log/read-events.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
import { agentNamed, type EngineContext } from '../engine-context.js';
import { startRunOf } from '../runs/start-run.js';
import { patchedAgent } from './patched-agent.js';

/** How a proposed version is tried before people are asked. */

/** Replays the newest paused runs of an agent under a patched definition. */
export type ReplayWaiting = (
  context: EngineContext,
  patched: RegisteredAgent,
  tenant: string,
  signal: AbortSignal,
) => Promise<TrialReport['waiting']>;

export const trialMemo = z.object({
  ids: z.array(z.string()),
  since: z.number(),
  everyMs: z.int(),
});
export type TrialMemo = z.output<typeof trialMemo>;

interface OfRun {
  readonly runId: string;
  readonly tenant: string;
  readonly signal: AbortSignal;
}

/**
 * Keeps the proposed version and starts its cases, with both definitions. Doing it again starts nothing more. Returns the runs: for each
 * case that of the configuration and that of the patch. Throws what `judgePatch` throws, and `patch_stale`.
 */
export async function beginTrial(
  context: EngineContext,
  terms: EvolutionTerms,
  input: Proposal,
  run: OfRun,
): Promise<readonly string[]> {
  const { runId, tenant } = run;
  const { base, patched } = armsOf(context, terms.agents, input, runId);
  const { knex } = context.stepContext;
  const { name, version, definition, definitionHash } = patched;
  await saveAgent(knex, { tenant: 'default', name, version, definitionHash, definition });
  await insertVersion(knex, {
    ...{ tenant, id: runId, agent: name, base_hash: base.definitionHash, definition_hash: definitionHash, version },
    patch: canonical(toJson(input.patch)),
  });
  const [actor = 'evolve'] = await requestersOf(knex, runId);
  const caller: Caller = { actor, role: 'operator', tenant };
  const ids: string[] = [];
  for (const [index, one] of input.cases.entries()) {
    for (const [arm, agent] of [base, patched].entries()) {
      const request = { agent: name, input: one.input, grants: [...terms.trialGrants], metadata: { trial: runId } };
      const started = await startRunOf(context, () => agent, request, caller, `${runId} ${index} ${arm}`);
      ids.push(started.id);
    }
  }
  return ids;
}

function armsOf(
  context: EngineContext,
  evolving: readonly string[],
  input: Proposal,
  runId: string,
): { readonly base: RegisteredAgent; readonly patched: RegisteredAgent } {
  const base = agentNamed(context, input.agent);
  if (!evolving.includes(base.name))
    throw new HoldfastError('patch_out_of_reach', `The configuration lets no patch change the agent ${base.name}.`);
  if (base.definitionHash !== input.base) {
    const detail = `The patch starts from the definition ${input.base}; that of ${base.name} is ${base.definitionHash}.`;
    throw new HoldfastError('patch_stale', detail);
  }
  return { base, patched: patchedAgent(base, input.patch, `${base.version}+${runId.slice(4, 12)}`) };
}

/** The report, once all runs of the trial have ended or paused, or there is no more time. Null: not yet. */
export async function reportOfTrial(
  context: EngineContext,
  input: Proposal,
  { runId, tenant, signal }: OfRun,
  { ids }: TrialMemo,
  isLate: boolean,
  replayWaiting: ReplayWaiting,
): Promise<TrialReport | null> {
  const { knex } = context.stepContext;
  const rows = new Map((await trialRunsOf(knex, tenant, ids)).map((row) => [row.id, row]));
  const isOpen = [...rows.values()].some(({ status }) => !isOver(status) && status !== 'paused');
  if (isOpen && !isLate) return null;
  const tried = ids.map((id, place): TrialRun => {
    const row = rows.get(id);
    const expect = input.cases[Math.floor(place / 2)]?.expect;
    const output = row?.status === 'completed' && row.output !== null ? jsonOrNull(row.output) : undefined;
    return {
      passed: expect !== undefined && meets(expect, output),
      nanoUsd: row?.cost_nano_usd ?? null,
      activeMs: Number(row?.active_ms ?? 0),
    };
  });
  const row = await findVersion(knex, { tenant, id: runId });
  if (row === undefined) throw new HoldfastError('patch_invalid', `The version that ${runId} proposed was removed.`);
  const base = agentNamed(context, input.agent);
  const patched = patchedAgent(base, input.patch, row.version);
  const report: TrialReport = {
    patchDigest: digestOf(toJson(input.patch)),
    definitionHash: row.definition_hash,
    changes: changesOf(base, patched),
    waiting: await replayWaiting(context, patched, tenant, signal),
    before: armOf(tried.filter((_, place) => place % 2 === 0)),
    after: armOf(tried.filter((_, place) => place % 2 === 1)),
  };
  await saveReport(knex, { tenant, id: runId }, toJson(report), digestOf(toJson(report)));
  return report;
}

function changesOf(base: RegisteredAgent, patched: RegisteredAgent): string[] {
  const [before, after] = [base, patched].map(({ definition }) => JSON.parse(definition) as Record<string, unknown>);
  return Object.keys(after ?? {}).filter(
    (name) =>
      name !== 'version' && canonical(toJson(before?.[name] ?? null)) !== canonical(toJson(after?.[name] ?? null)),
  );
}
