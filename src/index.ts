/** The library: an engine with its verbs, declarations of agents and tools, and the models by name. */
export { type Caller, LOCAL_CALLER, type Role } from './core/caller.js';
export type { RunDelta } from './core/delta.js';
export type { EmitEvent, EmittedEvent } from './core/emitted-event.js';
export { ERRORS, type ErrorCode, HoldfastError } from './core/errors.js';
export type { RunEvent } from './core/event.js';
export type { ExportView, StartExport } from './core/export.js';
export type { DecisionRequest, InterruptionView } from './core/interruption.js';
export type { RewardFacts, RewardFunction } from './core/reward-function.js';
export type { RunView, StartRun } from './core/run.js';
export type { ScaffoldCall } from './core/scaffold.js';
export type { StepResult } from './core/scaffold-step.js';
export type { SessionItem, SessionView } from './core/session.js';
export type { Settlement } from './core/settlement.js';
export type { SubmitTask, TaskFilter, TaskView } from './core/task.js';
export type {
  IsolatedContext,
  IsolatedToolDeclaration,
  ProbeResult,
  ToolContext,
  ToolDeclaration,
} from './core/tool.js';
export type { CommandOptions, EndedCommand, ToolEnvironment } from './core/tool-environment.js';
export type { ShownTrajectory, Trajectory } from './core/trajectory.js';
export { type Interruption, type WaitRequest, waitFor } from './core/wait.js';
export { consumeResult } from './engine/consume-result.js';
export { createEngine } from './engine/create-engine.js';
export {
  type AgentDeclaration,
  type AgentScaffold as Scaffold,
  defineAgent,
  defineConfig,
  type HoldfastConfig,
} from './engine/define.js';
export type { EngineConfig } from './engine/engine-config.js';
export { MultiModelProvider, nativeApi, OllamaModelProvider, openaiCompatible } from './engine/model-providers.js';
export { type RunAgentOptions, runAgent } from './engine/run-agent.js';
export type { RunStateBackend } from './engine/run-state-backend.js';
export { RunStateStore } from './engine/run-state-store.js';
export { secret } from './engine/secret.js';
export type { Engine } from './engine/verbs.js';
export { functionModel } from './models/function-model.js';
export { MultiModelProviderMap } from './models/multi-model-provider-map.js';
export type { NativeApiOptions } from './models/native-options.js';
export { OllamaModel } from './models/ollama-model.js';
export type { OpenAICompatibleOptions } from './models/openai-compatible-options.js';
export type { Secret } from './models/secret.js';
export { askHumanTool } from './tools/ask-human.js';
export { bashTool } from './tools/bash.js';
export { type BoundCredential, credentialFetch } from './tools/bound-credential.js';
export { containerEditTool } from './tools/container-edit.js';
export { containerReadTool } from './tools/container-read.js';
export { defineTool } from './tools/define-tool.js';
export { httpRequestTool } from './tools/http-request.js';
export { listFilesTool } from './tools/list-files.js';
export { minimalScaffold } from './tools/minimal-scaffold.js';
export { readFileTool } from './tools/read-file.js';
export { sleepTool } from './tools/sleep.js';
export { type StdioServerOptions, stdioServer } from './tools/stdio-server.js';
export { type AgentReference, type SubAgentOptions, subAgent } from './tools/sub-agent.js';
export { type SweScaffoldOptions, sweScaffold } from './tools/swe-scaffold.js';
export { waitForEventTool } from './tools/wait-for-event.js';
export { writeFileTool } from './tools/write-file.js';
