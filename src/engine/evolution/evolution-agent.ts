import { z } from 'zod';
import { type EvolutionTerms, termsOf } from '../../core/agents/evolution-terms.js';
import { HoldfastError } from '../../core/errors/errors.js';
import {
  APPLY_TOOL,
  EVOLUTION_AGENT,
  measure,
  type Proposal,
  proposal,
  trialReport,
} from '../../core/evolution/version.js';
import { invalidConfig } from '../../core/field-errors.js';
import { parseGrants } from '../../core/grants/grants.js';
import { waitFor } from '../../core/interruptions/wait.js';
import { canonical, digestOf, jsonOrNull, toJson } from '../../core/json.js';
import { ProgramModel } from '../../models/program-model.js';
import { findVersion, makeLive } from '../../storage/evolution/agent-versions.js';
import { type DeclaredTool, defineTool } from '../../tools/define/define-tool.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
import type { AgentDeclaration } from '../agents/define.js';
import type { EngineConfig } from '../engine-config.js';
import type { EngineContext } from '../engine-context.js';
import { defineStateMachine } from '../machines/define-state-machine.js';
import { problemsOfOffers } from './offer-problems.js';
import { beginTrial, type ReplayWaiting, reportOfTrial, type TrialMemo, trialMemo } from './trial.js';

/** The agent that tries a proposed patch and has people decide on it: a state machine, so that its runs are like all others. */

const FIRST_LOOK_MS = 200;
const LONGEST_LOOK_MS = 30_000;
const TRIAL_MS_MOST = 6 * 3_600_000;

/** The engine that the tools work in. It is there before any run is. */
type EngineOf = () => EngineContext;

interface Workings {
  readonly engine: EngineOf;
  readonly replayWaiting: ReplayWaiting;
}

function evolutionAgent(terms: EvolutionTerms, workings: Workings): AgentDeclaration {
  return defineStateMachine({
    name: EVOLUTION_AGENT,
    description: 'Tries a patch of an agent, has people decide on it, and gives the version to a share of new runs.',
    input: proposal,
    states: {
      open: { data: z.strictObject({}), to: ['trying'] },
      trying: { data: proposal, to: ['deciding', 'over'] },
      deciding: { data: z.strictObject({}), to: ['over'] },
      over: { data: z.strictObject({}), to: [] },
    },
    initial: { name: 'open', data: {} },
    tools: [tryTool(terms, workings), applyTool(terms, workings.engine)],
    grants: ['tool:call:try_patch', `tool:call:${APPLY_TOOL}`],
    transition: (state, event) => {
      if (event.type === 'input')
        return {
          state: { name: 'trying', data: event.input },
          calls: [{ tool: 'try_patch', arguments: { proposal: canonical(toJson(event.input)) } }],
        };
      if (event.type === 'failed')
        return {
          state: { name: 'over', data: {} },
          output: { applied: false, code: event.code, message: event.message },
        };
      if (state.name !== 'trying') return { state: { name: 'over', data: {} }, output: { applied: true } };
      const { agent, base, patch, reason, share, measure: measured } = state.data;
      const report = event.output;
      const asked = {
        ...{ agent, base, reason, share, patch: canonical(toJson(patch)) },
        ...{ measure: measured && canonical(measured), report: canonical(report), reportDigest: digestOf(report) },
      };
      return {
        state: { name: 'deciding', data: {} },
        calls: [{ tool: APPLY_TOOL, arguments: asked }],
      };
    },
  });
}

/** A configuration with the agent that evolution needs; without evolution as it is. */
export const withEvolution = (config: EngineConfig, workings: Workings): EngineConfig =>
  config.evolution === undefined
    ? config
    : { ...config, agents: [...config.agents, evolutionAgent(termsOf(config.evolution), workings)] };

/** Refuses terms that name what no patch can change. Throws `config_invalid`. */
export function assertEvolution(terms: EngineConfig['evolution'], agents: ReadonlyMap<string, RegisteredAgent>): void {
  const ofAgents = (terms?.agents ?? []).flatMap((name, index) => {
    const detail = problemOfAgent(agents.get(name));
    return detail === null ? [] : [{ pointer: `/evolution/agents/${index}`, detail: `${name} ${detail}` }];
  });
  const fields = ofAgents.length > 0 || terms === undefined ? ofAgents : problemsOfOffers(terms, agents);
  if (fields.length > 0) throw invalidConfig('The engine', fields);
  try {
    parseGrants(terms?.trialGrants ?? [], { allowEverything: true });
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message.replace(/\.$/, '') : String(cause);
    throw invalidConfig('The engine', [{ pointer: '/evolution/trialGrants', detail }]);
  }
}

function problemOfAgent(known: RegisteredAgent | undefined): string | null {
  if (known === undefined) return 'is no agent of the configuration';
  // A plan is JSON, and says itself what its runs do.
  return known.agent.model instanceof ProgramModel && known.plan === null
    ? 'is a program, which no patch changes'
    : null;
}

function tryTool(terms: EvolutionTerms, { engine, replayWaiting }: Workings): DeclaredTool {
  const look = async (
    memo: TrialMemo,
    input: Proposal,
    run: { runId: string; tenant: string; signal: AbortSignal; now: () => number },
  ) => {
    const isLate = run.now() - memo.since > TRIAL_MS_MOST;
    const report = await reportOfTrial(engine(), input, run, memo, isLate, replayWaiting);
    if (report !== null) return report;
    const everyMs = Math.min(memo.everyMs * 2, LONGEST_LOOK_MS);
    return waitFor({ kind: 'timer', afterMs: memo.everyMs, memo: toJson({ ...memo, everyMs }) });
  };
  return defineTool({
    name: 'try_patch',
    description: 'Judges a patch of an agent, replays runs that wait, and lets both definitions do the cases.',
    input: z.object({ proposal: z.string() }),
    output: trialReport,
    effect: 'idempotent',
    timeoutMs: 600_000,
    execute: async (given, context) => {
      const input = readProposal(given.proposal);
      const ids = await beginTrial(engine(), terms, input, context);
      return look({ ids: [...ids], since: context.now(), everyMs: FIRST_LOOK_MS }, input, context);
    },
    resume: (given, { memo }, context) => look(trialMemo.parse(memo), readProposal(given.proposal), context),
  });
}

/** JSON stands in texts: the SDK takes no tool whose input can be any JSON. */
const readProposal = (text: string): Proposal => proposal.parse(jsonOrNull(text));

const application = z.object({
  ...{ agent: z.string(), base: z.string(), reason: z.string(), share: z.int().min(1).max(100) },
  ...{ patch: z.string(), measure: z.string().nullable(), report: z.string(), reportDigest: z.string() },
});

function applyTool({ approvals }: EvolutionTerms, engine: EngineOf): DeclaredTool {
  return defineTool({
    name: APPLY_TOOL,
    description: 'Makes a patched definition the live version of an agent, for a share of its new runs.',
    input: application,
    output: z.object({ version: z.string(), share: z.int() }),
    effect: 'idempotent',
    approvals,
    separateRequester: true,
    approval: ({ agent, share, reason }) => `Give ${share} % of new runs of ${agent} the patched definition? ${reason}`,
    execute: async ({ agent, patch, share, measure: measured, report, reportDigest }, { runId: id, tenant }) => {
      const { knex } = engine().stepContext;
      return knex.transaction(async (trx) => {
        const row = await findVersion(trx, { tenant, id });
        const isTried = row?.report_digest === reportDigest && digestOf(jsonOrNull(report)) === reportDigest;
        if (row === undefined || row.agent !== agent || !isTried || row.patch !== patch)
          throw new HoldfastError(
            'patch_invalid',
            `The patch of ${agent} is not the one that was tried with this report.`,
          );
        const terms = measured === null ? null : measure.parse(jsonOrNull(measured));
        await makeLive(trx, row, { share, terms, actor: null });
        return { version: row.version, share };
      });
    },
  });
}
