/** The library: an engine with its verbs, declarations of agents and tools, and the models by name. */

export type { ScaffoldCall } from './core/agents/scaffold.js';
export type { StepResult } from './core/agents/scaffold-step.js';
export type { SessionItem, SessionView } from './core/agents/session.js';
export { type Caller, LOCAL_CALLER, type Role } from './core/caller.js';
export { ERRORS, type ErrorCode, HoldfastError } from './core/errors/errors.js';
export type { ExportView, StartExport } from './core/exports/export.js';
export type { EmitEvent, EmittedEvent } from './core/interruptions/emitted-event.js';
export type { DecisionRequest, InterruptionView } from './core/interruptions/interruption.js';
export type { Settlement } from './core/interruptions/settlement.js';
export { type Interruption, type WaitRequest, waitFor } from './core/interruptions/wait.js';
export type { RunDelta } from './core/log/delta.js';
export type { RunEvent } from './core/log/event.js';
export type { RunView, StartRun } from './core/runs/run.js';
export type { RewardFacts, RewardFunction } from './core/tasks/reward.js';
export type { SubmitTask, TaskFilter, TaskView } from './core/tasks/task.js';
export type {
  IsolatedContext,
  IsolatedToolDeclaration,
  ProbeResult,
  ToolContext,
  ToolDeclaration,
} from './core/tools/tool.js';
export type { CommandOptions, EndedCommand, ToolEnvironment } from './core/tools/tool-environment.js';
export type { ShownTrajectory, Trajectory } from './core/trajectories/trajectory.js';
export {
  type AgentDeclaration,
  type AgentScaffold as Scaffold,
  defineAgent,
  defineConfig,
  type HoldfastConfig,
} from './engine/agents/define.js';
export {
  MultiModelProvider,
  nativeApi,
  OllamaModelProvider,
  openaiCompatible,
} from './engine/agents/model-providers.js';
export { createEngine } from './engine/create-engine.js';
export type { Engine } from './engine/engine.js';
export type { EngineConfig } from './engine/engine-config.js';
export { secret } from './engine/secrets/secret.js';
export { consumeResult, type RunAgentOptions, runAgent } from './engine/standalone/run-agent.js';
export type { RunStateBackend } from './engine/standalone/run-state-store.js';
export { RunStateStore } from './engine/standalone/run-state-store.js';
export type { NativeApiOptions } from './models/native/native-options.js';
export { OllamaModel } from './models/ollama/ollama-model.js';
export type { OpenAICompatibleOptions } from './models/openai/openai-compatible-options.js';
export { functionModel } from './models/providers/function-model.js';
export { MultiModelProviderMap } from './models/providers/multi-model-provider.js';
export type { Secret } from './models/secrets/secret.js';
export { bashTool } from './tools/container/bash.js';
export { containerEditTool } from './tools/container/container-edit.js';
export { containerReadTool } from './tools/container/container-read.js';
export { minimalScaffold } from './tools/container/minimal-scaffold.js';
export { defineTool } from './tools/define/define-tool.js';
export { type AgentReference, type SubAgentOptions, subAgent } from './tools/define/sub-agent.js';
export { listFilesTool } from './tools/files/list-files.js';
export { readFileTool } from './tools/files/read-file.js';
export { writeFileTool } from './tools/files/write-file.js';
export { type BoundCredential, credentialFetch } from './tools/http/bound-credential.js';
export { httpRequestTool } from './tools/http/http-request.js';
export { type StdioServerOptions, stdioServer } from './tools/mcp/stdio-server.js';
export { type SweScaffoldOptions, sweScaffold } from './tools/swe/swe-scaffold.js';
export { askHumanTool } from './tools/waiting/ask-human.js';
export { sleepTool } from './tools/waiting/sleep.js';
export { waitForEventTool } from './tools/waiting/wait-for-event.js';
