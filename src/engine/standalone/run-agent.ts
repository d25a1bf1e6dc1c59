import {
  type Agent,
  type AgentInputItem,
  type ModelProvider,
  type RunContext,
  Runner,
  type RunResult,
  type RunState,
  type Session,
  type StreamedRunResult,
} from '@openai/agents';
import { MultiModelProvider } from '../agents/model-providers.js';

// biome-ignore lint/suspicious/noExplicitAny: agents of every context and output can be run, as in the SDK
type AnyAgent = Agent<any, any>;

export interface RunAgentOptions<TContext> {
  /** Default: every model by its prefix, `openai/…`, `ollama/…`. */
  readonly modelProvider?: ModelProvider;
  readonly session?: Session;
  readonly context?: TContext | RunContext<TContext>;
  readonly maxTurns?: number;
  readonly signal?: AbortSignal;
}

type Input<TAgent extends AnyAgent> = string | AgentInputItem[] | RunState<unknown, TAgent>;

/**
 * Runs an agent in this process, from an input or from a saved state: the small layer, without durability between steps.
 * Throws what the SDK throws. For runs that survive crashes use an engine.
 */
export async function runAgent<TAgent extends AnyAgent>(
  agent: TAgent,
  input: Input<TAgent>,
  options: RunAgentOptions<unknown> & { readonly stream: true },
): Promise<StreamedRunResult<unknown, TAgent>>;
export async function runAgent<TAgent extends AnyAgent>(
  agent: TAgent,
  input: Input<TAgent>,
  options?: RunAgentOptions<unknown> & { readonly stream?: false },
): Promise<RunResult<unknown, TAgent>>;
export async function runAgent<TAgent extends AnyAgent>(
  agent: TAgent,
  input: Input<TAgent>,
  options: RunAgentOptions<unknown> & { readonly stream?: boolean } = {},
): Promise<RunResult<unknown, TAgent> | StreamedRunResult<unknown, TAgent>> {
  const { modelProvider = new MultiModelProvider(), stream = false, ...run } = options;
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  return stream
    ? runner.run(agent, input, { ...run, stream: true })
    : runner.run(agent, input, { ...run, stream: false });
}

/** What a result of the Agents SDK's `run` has, streamed or not. */
interface SdkResult {
  readonly finalOutput?: unknown;
  /** Only of a streamed result: settles when its stream is over. */
  readonly completed?: Promise<void>;
}

/**
 * Waits until a result is complete, streamed or not, and gives it back, so that `finalOutput` and `interruptions` can be
 * read. The events of the stream stay there for the caller that reads them. Throws what the run threw.
 */
export async function consumeResult<R extends SdkResult>(result: R | Promise<R>): Promise<R> {
  const given = await result;
  await given.completed;
  return given;
}
