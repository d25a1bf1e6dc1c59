/**
 * `holdfast`: the engine, declarations of agents and tools, and their types. `holdfast/models` and `holdfast/tools` have the rest; it is
 * here too, for code that was written before they were.
 */

export type { ScaffoldCall, StepResult } from './core/agents/scaffold.js';
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
export type { PlanDocument, PlanNode } from './core/plans/plan.js';
export type { ReadRun } from './core/queue/queue-wait.js';
export type { RunView, StartRun } from './core/runs/run.js';
export type { RewardFacts, RewardFunction } from './core/tasks/reward.js';
export type { SubmitTask, TaskFilter, TaskView } from './core/tasks/task.js';
export type { ToolState } from './core/tools/agent-state.js';
export { type MemorySpace, type MemorySpaceDeclaration, memorySpace } from './core/tools/memory-space.js';
export type {
  IsolatedContext,
  IsolatedToolDeclaration,
  ProbeResult,
  ToolContext,
  ToolDeclaration,
} from './core/tools/tool.js';
export type { CommandOptions, EndedCommand, ToolEnvironment } from './core/tools/tool-environment.js';
export type {
  MemoryChange,
  MemoryDocument,
  MemoryQuery,
  MemoryRef,
  MemoryWrite,
  RecalledDocuments,
  ToolMemory,
  TrustLabel,
} from './core/tools/tool-memory.js';
export type { ShownTrajectory, Trajectory, UnreadTrajectory } from './core/trajectories/trajectory.js';
export { runState } from './engine/agents/declared-state.js';
export {
  type AgentDeclaration,
  type AgentScaffold as Scaffold,
  defineAgent,
  defineConfig,
  type HoldfastConfig,
} from './engine/agents/define.js';
export { createEngine } from './engine/create-engine.js';
export type { Engine } from './engine/engine.js';
export type { EngineConfig } from './engine/engine-config.js';
export {
  defineStateMachine,
  type StateDeclaration,
  type StateDeclarations,
  type StateMachineDeclaration,
  type StateOf,
  type StepOf,
} from './engine/machines/define-state-machine.js';
export { definePlan, type PlanDeclaration } from './engine/plans/define-plan.js';
export { type PlanProposals, type ProposalsDeclaration, planProposals } from './engine/plans/plan-proposals.js';
export { secret } from './engine/secrets/secret.js';
export { consumeResult, type RunAgentOptions, runAgent } from './engine/standalone/run-agent.js';
export type { RunStateBackend } from './engine/standalone/run-state-store.js';
export { RunStateStore } from './engine/standalone/run-state-store.js';
export * from './library/models.js';
export { HoldfastRunner, type RunnerConfig, type RunnerOptions } from './library/runner.js';
export type { RunnerItem } from './library/runner-result.js';
export { type RunnerInterruption, type RunnerResult, RunnerState } from './library/runner-result.js';
export * from './library/tools.js';
export type { Secret } from './models/secrets/secret.js';
export { defineTool } from './tools/define/define-tool.js';
export { type AgentReference, type SubAgentOptions, subAgent } from './tools/define/sub-agent.js';
