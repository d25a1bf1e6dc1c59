import { z } from 'zod';
import type { Settlement } from '../interruptions/settlement.js';
import type { Interruption } from '../interruptions/wait.js';
import type { JsonObject, JsonValue } from '../json.js';
import type { StateProblem, ToolState } from './agent-state.js';
import type { ToolEnvironment } from './tool-environment.js';
import type { ToolMemory, TrustLabel, UntrustedWay } from './tool-memory.js';

/** How much a tool may let its output be. */
export const MOST_OUTPUT_BYTES = 64 * 1024 * 1024;

/**
 * What a tool does to the world. `pure`: nothing. `idempotent`: the same call twice is the same as once, if the tool passes
 * on `idempotencyKey`. `unsafe`: a second call does a second thing, so that it is never repeated on its own.
 */
export type Effect = 'pure' | 'idempotent' | 'unsafe';

/** What to do when a call of an `unsafe` tool was begun, its process died, and no one knows whether it happened. */
export type OnUnknownEffect = 'ask' | 'probe' | 'rerun';

/** What an agent says of the tools that declare nothing of themselves: those of the SDK. */
export const plainTools = z.strictObject({
  /** Bound of an output as JSON, in bytes. Default 262,144. */
  maxOutputBytes: z.int().min(1).max(MOST_OUTPUT_BYTES).optional(),
});
export type PlainTools = z.input<typeof plainTools>;

/** What a tool gets beside its input. Nothing else of the world is handed to it. */
export interface ToolContext<S = JsonObject> {
  readonly runId: string;
  readonly callId: string;
  readonly tenant: string;
  readonly agent: string;
  /** `<runId>:<callId>`: the same at every execution of this call. */
  readonly idempotencyKey: string;
  /** Fires on cancellation, on the tool's timeout and on the run's own limit of time. */
  readonly signal: AbortSignal;
  /** The time, in milliseconds since 1970 in UTC. Recorded, so that a replay of the body reads the same. */
  readonly now: () => number;
  /** The logical time: the number of the `call.started` of the call in the log of the run. */
  readonly logicalTime: () => Promise<number>;
  /** A number in [0, 1), the same sequence at every execution of this call. */
  readonly random: () => number;
  /** Throws `capability_denied` unless the run holds the capability. For what only shows while a tool works. */
  readonly require: (capability: string) => void;
  /** The state of the run. Its methods throw `state_missing` where the agent has none. See docs/agents/state.md. */
  readonly state: ToolState<S>;
  /** The memory of its agent. Its methods throw `memory_unknown` where the agent declares none. See docs/agents/memory.md. */
  readonly memory: ToolMemory;
  /** The container of the run. Its methods throw `environment_missing` where the agent has none. */
  readonly environment: ToolEnvironment;
}

/** What a probe found out about a call of unknown effect. */
export type ProbeResult<O> =
  | { readonly happened: true; readonly output: O }
  | { readonly happened: false }
  | { readonly happened: 'unknown' };

/** When a person must approve a call: always, or for some inputs, with the sentence that the person reads. */
export type ApprovalRule<I> = boolean | string | ((input: I) => boolean | string);

/** Where a body works that is given by the path of its module, and its bounds. */
export interface IsolatedBody {
  /** `thread`: a worker thread of this process. `process`: a process of its own. */
  readonly isolation: 'thread' | 'process';
  /** The file of the module: `new URL('./heavy.js', import.meta.url)`. */
  readonly module: URL;
  /** Which of its exports is the body. Default `execute`. */
  readonly export?: string;
  readonly limits?: {
    /** Of a thread its heap, without buffers; of a process all that it has in memory. In MiB; default 512, at least 128. */
    readonly memoryMb?: number;
    /** Seconds of processor time for one call. Default: as many as `timeoutMs` allows. Measured on Linux. */
    readonly cpuSeconds?: number;
  };
  /** The whole environment that the body sees. Default: none. */
  readonly env?: { readonly [name: string]: string };
}

/** What a body gets beside its input that works in a thread or a process of its own. */
export type IsolatedContext = Omit<ToolContext, 'require' | 'environment' | 'state' | 'memory' | 'logicalTime'>;

/** What a tool is, wherever its body works. Every field that is left out has the safe value. */
interface ToolTerms<I, O> {
  /** `[a-z][a-z0-9_]*`, at most 64 characters. */
  readonly name: string;
  /** Changes when the tool does something else with the same input. Default '1'. */
  readonly version?: string;
  readonly description: string;
  readonly input: z.ZodType<I>;
  readonly output: z.ZodType<O>;
  /**
   * What a call needs, as `domain:action:scope`; a pure function of the parsed input or a fixed list.
   * Default: `tool:call:<name>`.
   */
  readonly capabilities?: readonly string[] | ((input: I) => readonly string[]);
  /** Default 'unsafe'. */
  readonly effect?: Effect;
  /** Whether the same input always gives the same output; only of a `pure` tool. Default false. */
  readonly deterministic?: boolean;
  /** Default 60,000; at most 3,600,000. A body here is stopped through `signal`; one with `isolation` is ended. */
  readonly timeoutMs?: number;
  /** Bound of the output as JSON, in bytes. Default 262,144; more is an error that the model sees. */
  readonly maxOutputBytes?: number;
  readonly approval?: ApprovalRule<I>;
  /** How many different people must approve where an approval is needed. Default 1; at most 20. */
  readonly approvals?: number;
  /** Whether someone else than who asked for the run must approve. Default: where several must. See docs/approvals/README.md. */
  readonly separateRequester?: boolean;
  /** Milliseconds until an approval expires; null: never. Default: the engine's `approvalTimeoutMs`. */
  readonly approvalExpiresInMs?: number | null;
  /**
   * `tell` (default): the model reads why a call failed. `fail`: the run fails with the error of the call, and calls beside it
   * that are at work are stopped.
   */
  readonly onFailure?: 'tell' | 'fail';
  /** Default 'ask'. */
  readonly onUnknownEffect?: OnUnknownEffect;
  /** How its outputs come in, where no one here wrote them: `web`, `file`, `tool` or another one. */
  readonly untrusted?: UntrustedWay;
  /** Looks whether a call happened. Needed for `onUnknownEffect: 'probe'`. */
  readonly probe?: (input: I, context: ToolContext) => Promise<ProbeResult<O>>;
}

/** The declaration of a tool. */
export interface ToolDeclaration<I, O, S = JsonObject> extends ToolTerms<I, O> {
  /** What the tool reads of the state of a run, which gives `context.state` its type. Default: any JSON object. */
  readonly state?: z.ZodType<S>;
  /** Gives the output, or `waitFor(…)` where the call must wait for something. */
  readonly execute: (input: I, context: ToolContext<S>) => Promise<O | Interruption> | O | Interruption;
  /**
   * Goes on after a wait that `execute` (or `resume` itself) asked for. Without it, what settled the wait is the output: an
   * answer, the payload of an event, the output of the other run; null for a timer. A refusal or an expiry the model reads.
   */
  readonly resume?: (
    input: I,
    settlement: Settlement,
    context: ToolContext<S>,
  ) => Promise<O | Interruption> | O | Interruption;
}

/** The declaration of a tool whose body works in a thread or process of its own. */
export interface IsolatedToolDeclaration<I, O> extends ToolTerms<I, O>, IsolatedBody {}

/** Where the body of one call works. */
export interface BodyPlace {
  readonly run: (input: unknown, context: ToolContext) => Promise<unknown>;
  /** The call is over, or no one waits for it any more. */
  readonly release: () => void;
}

/** A declaration with every default filled in, and its types forgotten: what the engine works with. */
export interface ToolSpec {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly effect: Effect;
  readonly deterministic: boolean;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly approvals: number;
  readonly separateRequester: boolean | undefined;
  readonly approvalExpiresInMs: number | null | undefined;
  readonly onFailure: 'tell' | 'fail';
  readonly onUnknownEffect: OnUnknownEffect;
  /** Parses what the model sent. `problem` is a sentence that the model can act on. */
  readonly parse: (
    args: JsonValue,
  ) => { readonly ok: true; readonly input: unknown } | { readonly ok: false; readonly problem: string };
  /** `text`: what the model reads, where that is not the output as JSON. */
  readonly parseOutput: (
    value: unknown,
  ) =>
    | { readonly ok: true; readonly output: JsonValue; readonly text?: string }
    | { readonly ok: false; readonly problem: string };
  readonly capabilitiesOf: (input: unknown) => readonly string[];
  /** Null: no approval. A text: why a person must approve. */
  readonly approvalOf: (input: unknown) => string | null;
  readonly probe: ((input: unknown, context: ToolContext) => Promise<ProbeResult<unknown>>) | null;
  readonly execute: (input: unknown, context: ToolContext) => Promise<unknown>;
  readonly resume: ((input: unknown, settlement: Settlement, context: ToolContext) => Promise<unknown>) | null;
  /** Says what does not fit what the tool reads of the state of a run. Absent: it says nothing of it. */
  readonly stateProblem?: StateProblem;
  /** What the declaration says of both, which may be functions, so that two versions of a tool can be compared. */
  readonly rules: { readonly capabilities: unknown; readonly approval: unknown };
  /** The label of its outputs; absent: they are trusted. */
  readonly label?: TrustLabel;
  /** Where its body works, if not in this process. */
  readonly isolated?: Required<Pick<IsolatedBody, 'isolation' | 'env'>> & {
    readonly module: string;
    readonly export: string;
    readonly memoryMb: number;
    readonly cpuSeconds: number | null;
  };
  /** Waits until its body can begin. Rejects with the reason of the signal, and with `BodyLost`. Absent: it always can. */
  readonly enter?: (signal: AbortSignal) => Promise<BodyPlace>;
  /** What its steps are called, before the id of the call, where that is not `tool:<name>`. */
  readonly step?: string;
}
