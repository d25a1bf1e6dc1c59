import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { addProcessMetrics } from './process-metrics.js';

/** What stands for every further value. */
export const OTHER = 'other';
const LONGEST = 100;

/**
 * The values of a label that configurations and models choose. Each combination of labels is a series that stays: so many values are
 * told apart, the first that came, and all further ones are `other`.
 */
class BoundedLabel {
  readonly #known = new Set<string>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  of(value: string): string {
    if (this.#known.has(value)) return value;
    if (value.length > LONGEST || value === '' || this.#known.size >= this.#most) return OTHER;
    this.#known.add(value);
    return value;
  }
}

/** Seconds of a model call, and of whatever takes as long. */
const CALL_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160];
const TOOL_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800];
const WAIT_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200];
const HTTP_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 120];
const RUN_SECONDS = [1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400];
const PULL_SECONDS = [0.5, 1, 5, 15, 60, 180, 600, 1800];
const STEPS = [1, 2, 3, 5, 8, 13, 21, 34, 55, 100, 200, 500, 1000];
const REWARDS = [-1, -0.5, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

export interface ModelAttempt {
  readonly model: string;
  readonly outcome: string;
  readonly seconds: number;
}

export interface AnsweredAttempt {
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Null: no price is known. */
  readonly usd: number | null;
}

export interface AnsweredRequest {
  readonly method: string;
  /** As the table of routes has it, never the path of a request. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
}

export interface EndedTask {
  /** That of a trajectory. */
  readonly result: string;
  /** Of an error; null: it gave a result. */
  readonly code: string | null;
  readonly seconds: number;
}

export interface EndedRun {
  readonly agent: string;
  readonly status: string;
  readonly seconds: number;
  readonly result: string;
  readonly reward: number | null;
  readonly steps: number;
  readonly tokens: number;
}

/** Text format 0.0.4 of Prometheus. */
export interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

/**
 * What this process has done since it started, for Prometheus. Names, labels and meaning: docs/operate/metrics.md. Nothing here
 * throws, waits or holds ids; labels that others choose are bounded.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #agents = new BoundedLabel(50);
  readonly #models = new BoundedLabel(50);
  readonly #tools = new BoundedLabel(100);
  readonly #closeProcess = addProcessMetrics(this.registry);

  readonly #categories = new BoundedLabel(50);
  readonly #tasksSubmitted = this.#counter('tasks_submitted_total', 'Tasks that were submitted to this process.', [
    'category',
  ]);
  readonly #tasksCompleted = this.#counter('tasks_completed_total', 'Tasks whose result this process has read.', [
    'result',
  ]);
  readonly #tasksFailed = this.#counter('tasks_failed_total', 'Tasks that ended without a result.', ['code']);
  readonly #taskSeconds = this.#histogram(
    'task_duration_seconds',
    'Time from the submission of tasks to their end.',
    ['result'],
    RUN_SECONDS,
  );
  readonly #llmRequests = this.#counter('llm_requests_total', 'Attempts to get an answer of a model.', [
    'model',
    'outcome',
  ]);
  readonly #llmTokens = this.#counter('llm_tokens_total', 'Tokens of answered attempts, as providers count them.', [
    'model',
    'type',
  ]);
  readonly #llmCost = this.#counter('llm_cost_dollars_total', 'What answered attempts cost, where prices are known.', [
    'model',
  ]);
  readonly #llmUnpriced = this.#counter('llm_unpriced_requests_total', 'Answered attempts whose cost is not known.', [
    'model',
  ]);
  readonly #llmLatency = this.#histogram('llm_latency_seconds', 'How long attempts took.', ['model'], CALL_SECONDS);
  readonly #toolCalls = this.#counter('tool_calls_total', 'Executions of the body of a tool, by how they ended.', [
    'tool',
    'outcome',
  ]);
  readonly #toolSeconds = this.#histogram('tool_duration_seconds', 'How long they took.', ['tool'], TOOL_SECONDS);
  readonly #runsStarted = this.#counter('runs_started_total', 'Runs that were started at this process.', ['agent']);
  readonly #runsEnded = this.#counter('runs_ended_total', 'Runs whose end this process has read.', ['agent', 'status']);
  readonly #runSeconds = this.#histogram(
    'run_duration_seconds',
    'Time at work of runs that ended.',
    ['agent'],
    RUN_SECONDS,
  );
  readonly #length = this.#histogram('trajectory_length_steps', 'Steps of runs that ended.', ['result'], STEPS);
  readonly #reward = this.#histogram(
    'trajectory_reward',
    'Rewards that runs had when they were read.',
    ['result'],
    REWARDS,
  );
  readonly #tokens = this.#counter('trajectory_tokens_total', 'Tokens of runs that ended.', ['result']);
  readonly #dispatchSeconds = this.#histogram(
    'dispatch_latency_seconds',
    'How long segments waited in the queue before a worker took them for the first time.',
    [],
    WAIT_SECONDS,
  );
  readonly #recovered = this.#counter(
    'segments_recovered_total',
    'Segments of dead workers that were taken over here.',
    [],
  );
  readonly #takenOver = this.#counter('workers_taken_over_total', 'Dead workers that left segments.', []);
  readonly #requeued = this.#counter('segments_requeued_total', 'Segments of this worker that had stopped.', []);
  readonly #stranded = this.#counter(
    'runs_stranded_total',
    'Runs that were ended because their segment could not go on.',
    [],
  );
  readonly #stalled = this.#counter('runs_stalled_total', 'Runs at work here that made no progress for long.', []);
  readonly #loopHeld = this.#counter(
    'event_loop_held_seconds_total',
    'Time in which the process ran nothing else, in pieces of a second or more, by the tool that held it.',
    ['tool'],
  );
  readonly #imagesRemoved = this.#counter('images_removed_total', 'Images that this process removed from its engine.', [
    'reason',
  ]);
  readonly #imagePulls = this.#histogram(
    'image_pull_duration_seconds',
    'How long pulls of images took.',
    ['outcome'],
    PULL_SECONDS,
  );
  readonly #webhookEvents = this.#counter(
    'webhook_events_total',
    'Attempts to tell webhooks of events, and events that were given up.',
    ['webhook', 'outcome'],
  );
  readonly #databaseErrors = this.#counter('database_errors_total', 'Statements that failed, by reason.', ['reason']);
  readonly #httpRequests = this.#counter('http_requests_total', 'Answers to requests.', ['method', 'route', 'code']);
  readonly #httpSeconds = this.#histogram(
    'http_request_duration_seconds',
    'How long they took; of streams until they were closed.',
    ['method', 'route'],
    HTTP_SECONDS,
  );

  #counter<T extends string>(name: string, help: string, labelNames: readonly T[]): Counter<T> {
    return new Counter({ name: `holdfast_${name}`, help, labelNames, registers: [this.registry] });
  }

  #histogram<T extends string>(name: string, help: string, labelNames: readonly T[], buckets: number[]): Histogram<T> {
    return new Histogram({ name: `holdfast_${name}`, help, labelNames, buckets, registers: [this.registry] });
  }

  constructor() {
    for (const reason of ['away', 'full', 'read_only', 'conflict', 'other']) this.#databaseErrors.inc({ reason }, 0);
  }

  /** A gauge whose values others set. */
  gauge<T extends string>(name: string, help: string, labelNames: readonly T[] = []): Gauge<T> {
    return new Gauge({ name: `holdfast_${name}`, help, labelNames, registers: [this.registry] });
  }

  /** `webhook`: its name in the configuration. */
  webhookSent(webhook: string, outcome: 'delivered' | 'failed' | 'given_up', events = 1): void {
    this.#webhookEvents.inc({ webhook, outcome }, events);
  }

  attempted({ model, outcome, seconds }: ModelAttempt): void {
    const name = this.#models.of(model);
    this.#llmRequests.inc({ model: name, outcome });
    this.#llmLatency.observe({ model: name }, seconds);
  }

  answered({ model, inputTokens, outputTokens, usd }: AnsweredAttempt): void {
    const name = this.#models.of(model);
    this.#llmTokens.inc({ model: name, type: 'input' }, inputTokens);
    this.#llmTokens.inc({ model: name, type: 'output' }, outputTokens);
    if (usd === null) this.#llmUnpriced.inc({ model: name });
    else this.#llmCost.inc({ model: name }, usd);
  }

  executed(tool: string, outcome: string, seconds: number): void {
    const name = this.#tools.of(tool);
    this.#toolCalls.inc({ tool: name, outcome });
    this.#toolSeconds.observe({ tool: name }, seconds);
  }

  taskSubmitted(category: string): void {
    this.#tasksSubmitted.inc({ category: this.#categories.of(category) });
  }

  taskEnded({ result, code, seconds }: EndedTask): void {
    if (code === null) this.#tasksCompleted.inc({ result });
    else this.#tasksFailed.inc({ code });
    this.#taskSeconds.observe({ result }, seconds);
  }

  runStarted(agent: string): void {
    this.#runsStarted.inc({ agent: this.#agents.of(agent) });
  }

  runEnded({ agent, status, seconds, result, reward, steps, tokens }: EndedRun): void {
    const name = this.#agents.of(agent);
    this.#runsEnded.inc({ agent: name, status });
    this.#runSeconds.observe({ agent: name }, seconds);
    this.#length.observe({ result }, steps);
    if (reward !== null) this.#reward.observe({ result }, reward);
    this.#tokens.inc({ result }, tokens);
  }

  dispatched(seconds: number): void {
    this.#dispatchSeconds.observe(seconds);
  }

  takenOver(segments: number): void {
    this.#takenOver.inc();
    this.#recovered.inc(segments);
  }

  requeued(segments: number): void {
    this.#requeued.inc(segments);
  }

  stranded(): void {
    this.#stranded.inc();
  }

  stalled(): void {
    this.#stalled.inc();
  }

  imagePulled(outcome: 'pulled' | 'failed', seconds: number): void {
    this.#imagePulls.observe({ outcome }, seconds);
  }

  imageRemoved(reason: 'unused' | 'space'): void {
    this.#imagesRemoved.inc({ reason });
  }

  loopHeld(tool: string, seconds: number): void {
    this.#loopHeld.inc({ tool: tool === 'none' ? tool : this.#tools.of(tool) }, seconds);
  }

  databaseFailed(reason: 'away' | 'full' | 'read_only' | 'conflict' | 'other'): void {
    this.#databaseErrors.inc({ reason });
  }

  requested({ method, route, status, seconds }: AnsweredRequest): void {
    this.#httpRequests.inc({ method, route, code: status });
    this.#httpSeconds.observe({ method, route }, seconds);
  }

  async expose(): Promise<Exposition> {
    return { contentType: this.registry.contentType, text: await this.registry.metrics() };
  }

  /** Stops what watches this process. */
  close(): void {
    this.#closeProcess();
  }
}
