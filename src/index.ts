/** The library: an engine with its verbs, declarations of agents and tools, and the models by name. */
export { type Caller, LOCAL_CALLER, type Role } from './core/caller.js';
export { ERRORS, type ErrorCode, HoldfastError } from './core/errors.js';
export type { RunEvent } from './core/event.js';
export type { DecisionRequest, InterruptionView } from './core/interruption.js';
export type { RunView, StartRun } from './core/run.js';
export type { ProbeResult, ToolContext, ToolDeclaration } from './core/tool.js';
export type { Trajectory } from './core/trajectory.js';
export { createEngine, type EngineConfig } from './engine/create-engine.js';
export { type AgentDeclaration, defineAgent, defineConfig, type HoldfastConfig } from './engine/define.js';
export type { Engine } from './engine/verbs.js';
export { functionModel } from './models/function-model.js';
export { MultiModelProvider } from './models/multi-model-provider.js';
export { MultiModelProviderMap } from './models/multi-model-provider-map.js';
export { defineTool } from './tools/define-tool.js';
