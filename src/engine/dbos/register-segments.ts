import { DBOS } from '@dbos-inc/dbos-sdk';
import type { ModelProvider } from '@openai/agents';
import { runSegment } from '../../../workflows/run-segment.js';
import { installSdkPatches } from '../../../workflows/sdk/patch-runner.js';
import type { StepGate } from '../../../workflows/segment-context.js';
import { environmentVariable } from '../../config.js';
import { SEGMENT_WORKFLOW } from '../../core/runs/run.js';
import { MultiModelProvider, MultiModelProviderMap } from '../../models/providers/multi-model-provider.js';
import type { EngineConfig } from '../engine-config.js';
import type { EngineContext } from '../engine-context.js';
import { outsideRequests } from '../engine-context.js';

const DEFAULT_TURNS_PER_SEGMENT = 50;

/** Makes the workflow of segments known to DBOS, with the models and agents of a configuration. */
export function registerSegments(
  config: EngineConfig,
  context: EngineContext,
  process: { readonly gate: StepGate; readonly isLeaving: () => boolean; readonly provider: ModelProvider },
): void {
  installSdkPatches(process.provider);
  const options = {
    gate: process.gate,
    provider: process.provider,
    isDraining: process.isLeaving,
    ctx: context.stepContext,
    agents: context.agents,
    agentsOf: (run: Parameters<typeof context.versions.agentsOf>[0]) => context.versions.agentsOf(run),
    turnsPerSegment: config.turnsPerSegment ?? DEFAULT_TURNS_PER_SEGMENT,
    deltas: context.deltas,
    enter: (runId: string, segment: number) => context.running.arrive(runId, segment),
    abortSignalFor: (runId: string, deadlineAtMs: number | null) =>
      context.running.watch(
        runId,
        deadlineAtMs === null ? null : Math.max(0, deadlineAtMs - context.stepContext.now()),
      ),
  };
  const run = (runId: string, segment: number) => outsideRequests(() => runSegment(options, runId, segment));
  DBOS.registerWorkflow(run, { name: SEGMENT_WORKFLOW });
}

/** The models of a configuration by their prefix. Nothing is contacted before one is asked for. */
export function providerOf({
  providers,
  openaiApiKey,
  openaiBaseUrl,
  ollamaApiKey,
  ollamaHost,
  cassettesDir,
  recordTo,
}: EngineConfig): MultiModelProvider {
  const provider_map = new MultiModelProviderMap();
  for (const [prefix, provider] of Object.entries(providers ?? {})) provider_map.addProvider(prefix, provider);
  const options = {
    ...{ openaiApiKey: openaiApiKey || null, openaiBaseUrl: openaiBaseUrl || null },
    ...{ ollamaApiKey: ollamaApiKey || null, ollamaHost: ollamaHost || null },
    ...(cassettesDir === undefined ? {} : { cassettesDir }),
    recordTo: recordTo || null,
  };
  return new MultiModelProvider({ provider_map, ...options }, environmentVariable);
}
