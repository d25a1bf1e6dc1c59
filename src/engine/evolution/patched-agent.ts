import type { Agent, ModelSettings } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import type { AgentPatch } from '../../core/evolution/patch.js';
import { type AgentChange, judgePatch, OPEN_SETTINGS } from '../../core/evolution/reach.js';
import { canonical, jsonObject, sha256 } from '../../core/json.js';
import { ProgramModel } from '../../models/program-model.js';
import { nameOf } from '../../tools/define/define-tool.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
import { patchedPlanAgent } from './patched-plan.js';

/**
 * The agent of the configuration as a patch makes it. Everything that the patch does not change is shared with it. Throws what
 * `judgePatch` throws.
 */
export function patchedAgent(base: RegisteredAgent, patch: AgentPatch, version: string): RegisteredAgent {
  const { plan: ofBase } = base;
  const before = jsonObject.parse(JSON.parse(base.definition));
  if (ofBase !== null) return patchedPlanAgent({ ...base, plan: ofBase }, before, patch, version);
  if (base.agent.model instanceof ProgramModel)
    throw new HoldfastError(
      'patch_out_of_reach',
      `${base.name} is a program, whose next calls code decides: no patch changes it.`,
    );
  const judged = judgePatch(before, patch, base.forkModels);
  const definition = canonical({ ...judged.definition, version });
  const definitionHash = sha256(definition);
  const agent = changedAgent(base.agent, judged.change);
  const kept = judged.change.tools === undefined ? null : new Set(judged.change.tools);
  const scaffold =
    base.scaffold === null
      ? null
      : { ...base.scaffold, agent, tools: base.scaffold.tools.filter(({ name }) => kept?.has(name) ?? true) };
  const toolSpecs = new Map([...base.toolSpecs].filter(([name]) => kept?.has(name) ?? true));
  const model = judged.change.model ?? base.view.model;
  const view = { ...base.view, version, definitionHash, model, tools: [...toolSpecs.keys()] };
  return { ...base, version, agent, scaffold, toolSpecs, definition, definitionHash, view };
}

function changedAgent(agent: Agent, change: AgentChange): Agent {
  const { instructions, model, modelSettings, tools, handoffs } = change;
  const kept = Object.entries(agent.modelSettings).filter(([name]) => !OPEN_SETTINGS.has(name));
  // What may change was parsed, and has the types that the SDK has.
  const settings =
    modelSettings === undefined
      ? agent.modelSettings
      : ({ ...Object.fromEntries(kept), ...modelSettings } as ModelSettings);
  return agent.clone({
    ...(instructions === undefined ? {} : { instructions }),
    ...(model === undefined ? {} : { model }),
    modelSettings: settings,
    tools: agent.tools.filter((tool) => tools?.includes(tool.type === 'function' ? nameOf(tool) : tool.name) ?? true),
    handoffs: agent.handoffs.filter((one) => handoffs?.includes('agentName' in one ? one.agentName : one.name) ?? true),
  });
}
