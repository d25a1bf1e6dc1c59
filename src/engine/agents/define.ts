import type { Agent, ModelProvider } from '@openai/agents';
import type { z } from 'zod';
import type { AlertsConfig } from '../../core/agents/alert-rules.js';
import type { EvolutionConfig } from '../../core/agents/evolution-terms.js';
import type { Scaffold } from '../../core/agents/scaffold.js';
import type { WebhooksConfig } from '../../core/agents/webhook.js';
import type { BudgetsInput, DeclaredBudget } from '../../core/budgets/budget.js';
import type { ConfiguredPrice, PriceTable } from '../../core/budgets/price.js';
import type { CeilingsConfig, HostFolderConfig } from '../../core/containers/ceilings.js';
import type { EnvironmentInput } from '../../core/containers/environment-spec.js';
import type { ImagePolicyConfig } from '../../core/containers/image-policy.js';
import type { GrantInput } from '../../core/grants/grants.js';
import type { DispatchLimits, NamedLimits, TenantLimits } from '../../core/queue/dispatch.js';
import type { StallsConfig } from '../../core/queue/worker.js';
import type { RetentionConfig } from '../../core/retention/retention.js';
import type { RoutersConfig } from '../../core/routing/router-config.js';
import type { RewardFunction } from '../../core/tasks/reward.js';
import type { SchedulingConfig } from '../../core/tasks/scheduling.js';
import type { RetriesConfig } from '../../core/tasks/task-retries.js';
import type { McpRules } from '../../core/tools/mcp.js';
import type { MemorySpace } from '../../core/tools/memory-space.js';
import type { PlainTools } from '../../core/tools/tool.js';
import type { Secret } from '../../models/secrets/secret.js';
import type { DeclaredTool } from '../../tools/define/define-tool.js';

/** A container, and where the secrets are that it gets as files in /run/secrets, by their names. */
export type EnvironmentDeclaration = Omit<EnvironmentInput, 'secrets'> & {
  readonly secrets?: { readonly [name: string]: Secret };
};

/** What stands between the model of an agent and its environment: src/core/agents/scaffold.ts. */
export type AgentScaffold = Scaffold<DeclaredTool>;

/** An agent with what it may do. A plain `Agent` of the SDK works too, and is granted nothing. */
export interface AgentDeclaration {
  // biome-ignore lint/suspicious/noExplicitAny: an agent of any context and output type can be declared
  readonly agent: Agent<any, any>;
  /** Changes when the agent behaves differently. Default '1'. */
  readonly version?: string;
  readonly grants?: readonly GrantInput[];
  /** Lets grants say `*:*:*`. Default false. */
  readonly allowEverything?: boolean;
  /** `stop` (default): a denied call ends the run. `tell`: the model reads that it was denied. */
  readonly onDenied?: 'stop' | 'tell';
  /** `fail` (default): an answer that was cut at its limit of tokens ends the run. `continue`: the model answers again, three times at most. */
  readonly onTruncated?: 'fail' | 'continue';
  /** `pure`: input and output fail in instructions, guardrails, hooks and other callbacks. See docs/replay/pure-callbacks.md. */
  readonly callbacks?: 'pure';
  /** Whether someone else than who asked for a run must approve its calls. Default: where a call takes several approvals. */
  readonly separateRequester?: boolean;
  /** Models that a fork or a retry of its runs may name beside those of the agent; `prefix/*` allows all of a provider. */
  readonly forkModels?: readonly string[];
  /** Ask models for their answer in pieces, which event streams show live. A run may say otherwise. Default false. */
  readonly stream?: boolean;
  /** Upper bounds of every run of this agent. Default of maxTurns: 100; the others: none. */
  readonly maxTurns?: number;
  readonly maxTotalTokens?: number;
  readonly maxDurationMs?: number;
  /** So long after its start a run is cancelled with those below it, also where it waits. Default: never. */
  readonly maxElapsedMs?: number;
  /** What the model calls of a run, and those of the runs below it, may cost. Default: what `budgets` of the configuration say. */
  readonly budget?: DeclaredBudget;
  /** Runs of this agent at work at once, of all tenants and under all workers. Default: no limit. */
  readonly concurrency?: DispatchLimits['concurrency'];
  /** Runs of this agent that begin in any period. Default: no limit. */
  readonly rate?: DispatchLimits['rate'];
  /** A container for the commands of each run. Default: none. See docs/containers/README.md. */
  readonly environment?: EnvironmentDeclaration;
  /** What stands between the model and the environment: its tools, and what it is shown. See docs/containers/scaffolds.md. */
  readonly scaffold?: AgentScaffold;
  /** Lets runs have a context, which code of the SDK gets as `RunContext.context`: `true`, or a schema of it. */
  readonly context?: true | z.ZodType;
  /** The state that its tools read and change: a schema whose members have defaults. See docs/agents/state.md. */
  readonly state?: z.ZodType;
  /**
   * The spaces of documents that its tools read and change, and that outlive runs: as declared, or by the name of one in `memorySpaces`.
   * See docs/agents/memory.md.
   */
  readonly memory?: readonly (MemorySpace | string)[];
  /** Bounds of the tools that declare none, of every agent that its runs come to: `{ maxOutputBytes: 10_000_000 }`. */
  readonly plainTools?: PlainTools;
  /** Rules for the tools of MCP servers, by the name of the server in capabilities. */
  readonly mcp?: { readonly [server: string]: McpRules };
}

export interface HoldfastConfig {
  readonly agents: readonly (AgentDeclaration | AgentDeclaration['agent'])[];
  /** Model providers by prefix: `{ mine: provider }` serves `mine/<model>`. */
  readonly providers?: { readonly [prefix: string]: ModelProvider };
  /** Routers by name: the model `router/<name>` asks the candidates of that one. See docs/models/routing.md. */
  readonly routers?: RoutersConfig;
  /** The same limits for the runs of a tenant: of `each`, or of those that are `named`. */
  readonly tenants?: TenantLimits;
  /** How many runs are at work at once in containers of an image: `{ 'python:3.13-slim': { concurrency: 4 } }`. See docs/operate/dispatch.md. */
  readonly images?: NamedLimits;
  /** How many runs are at work at once whose agent has a model: `{ 'openai/gpt-5-mini': { concurrency: 20 } }`. See docs/operate/dispatch.md. */
  readonly models?: NamedLimits;
  /** What models cost, in dollars as texts, before the list that comes with Holdfast: `{ 'ollama/*': 'free' }`. See docs/models/budgets.md. */
  readonly prices?: PriceTable;
  /** What a call whose price is not known is taken to cost. Default `refuse`: none goes out where a budget applies. */
  readonly unknownPrice?: 'refuse' | { readonly ceiling: ConfiguredPrice };
  /** With which key checkpoints of the log are signed, and where they are written. See docs/evidence/keys.md. */
  readonly evidence?: EvidenceConfig;
  /** What may be spent, in dollars as texts: `{ perRun: '2.00', perTenant: { each: { perDay: '50' } } }`. See docs/models/budgets.md. */
  readonly budgets?: BudgetsInput;
  /** Reward functions by name: a task that names one is given its reward by it. See docs/tasks/rewards.md. */
  readonly rewards?: { readonly [name: string]: RewardFunction };
  /** Models that forks and retries of runs of every agent may name; `prefix/*` allows all of a provider. See docs/replay/forks.md. */
  readonly forkModels?: readonly string[];
  /** Whether someone else than who asked for a run must approve its calls, of every agent. See docs/approvals/README.md. */
  readonly separateRequester?: boolean;
  /** What becomes of what is old: `{ runs: [{ status: 'failed', olderThanDays: 30, do: 'erase' }] }`. See docs/operate/retention.md. */
  readonly retention?: RetentionConfig;
  /** In which order tasks begin that say nothing of it: `{ weights: { difficulty: 24, category: 48, age: 1 } }`. See docs/tasks/batches.md. */
  readonly scheduling?: SchedulingConfig;
  /** How often a task is tried again that failed by what was around it: `{ most: 2, firstMs: 5000, longestMs: 300_000 }`. See docs/tasks/attempts.md. */
  readonly retries?: RetriesConfig;
  /** After how long a run at work that makes no progress is told, and whether it is ended: `{ afterMs: 900_000, end: false }`. See docs/tasks/dead-tasks.md. */
  readonly stalls?: StallsConfig;
  /** Rules that watch how tasks end: `{ rules: [{ name: 'passes-fall', measure: 'passRate', when: { type: 'threshold', below: 0.5 } }] }`. See docs/operate/alerts.md. */
  readonly alerts?: AlertsConfig;
  /** Servers that are told of events of the system: `[{ name: 'on-call', url: secret.env('ON_CALL_URL'), kinds: ['alert.changed'] }]`. See docs/operate/webhooks.md. */
  readonly webhooks?: WebhooksConfig;
  /** Memory spaces that agents name: `[memorySpace({ name: 'customers', scope: 'user' })]`. See docs/agents/memory.md. */
  readonly memorySpaces?: readonly MemorySpace[];
  /** Agents that patches may change, and who decides: `{ agents: ['clerk'], approvals: 2 }`. See docs/agents/evolution.md. */
  readonly evolution?: EvolutionConfig<DeclaredTool>;
  /** Folders of the host that environments of tasks may mount: `['/srv/books', { path: '/srv/out', writable: true }]`. Default: none. */
  readonly hostFolders?: readonly HostFolderConfig[];
  /** Up to where an operator may ask for what a container takes: `{ memoryMb: 4096, allowedEgress: ['pypi.org'] }`. See docs/containers/README.md. */
  readonly ceilings?: CeilingsConfig;
  /** Whether the engine pulls images, and the allowed registries: `{ pull: 'missing', registries: ['ghcr.io'] }`. See docs/operate/images.md. */
  readonly imagePolicy?: ImagePolicyConfig;
  /** Threads and processes at once in which bodies of tools work. Default: one for each processor, at least two. See docs/agents/isolation.md. */
  readonly bodiesApart?: number;
}

/** Gives a declaration its type. */
export const defineAgent = (declaration: AgentDeclaration): AgentDeclaration => declaration;

/** Gives a configuration its type: `export default defineConfig({ agents: […] })` in `holdfast.config.ts`. */
export const defineConfig = (config: HoldfastConfig): HoldfastConfig => config;

/** How the log over all runs is signed. */
interface EvidenceConfig {
  /** Where the signing key is: `secret.file('/run/secrets/signing-key')`. */
  readonly signingKey?: Secret;
  /** Earlier keys, as `holdfast signing-key` prints them. Those of a key file stand beside it. */
  readonly publicKeys?: readonly string[];
  /** A file, `-` for standard output, or a place in an object store: `s3://bucket/prefix`. Default: `checkpoints.jsonl` in the data directory. */
  readonly checkpoints?: string;
  /** How often what has happened is entered and signed. Default 5000. */
  readonly intervalMs?: number;
}
