import { ARTIFACTS_BYTES, allArtifacts, type KeptArtifacts } from '../../src/core/artifacts/kept-artifacts.js';
import type { JsonValue } from '../../src/core/json.js';
import type { Ending } from '../../src/core/runs/ending.js';
import type { ProcessRules, RuleEnd } from '../../src/core/tasks/process-rules.js';
import type { RunTask } from '../../src/core/tasks/resolve-task.js';
import {
  type CommandEnd,
  judgedAgain,
  type TaskVerified,
  type TestEnd,
  verdictOf,
} from '../../src/core/tasks/task-reward.js';
import { askReward } from '../../steps/verification/ask-reward.js';
import { type ArtifactOwner, keepFiles } from '../../steps/verification/keep-artifacts.js';
import { keepingOutput } from '../../steps/verification/keep-output.js';
import { isLookedAt, type Looked, lookAtFiles } from '../../steps/verification/look-at-files.js';
import { lookAtProcess } from '../../steps/verification/look-at-process.js';
import { runCompile, runLint, runTest, type Timed } from '../../steps/verification/run-test.js';
import { saidByRun } from '../../steps/verification/said-by-run.js';
import { inVerificationContainer, type JudgedEnvironment } from '../../steps/verification/verification-environment.js';
import { durableStep } from '../durable-step.js';
import { type SegmentContext, stopFromHalt } from '../segment-context.js';
import { keepLeft, wantsFiles, withArtifacts } from './keep-left.js';

/** Errors of the agent's own making. They end its work, and the verification judges what the agent has done by then. */
const JUDGED: ReadonlySet<string> = new Set(['limit_turns', 'limit_tokens', 'limit_wall_time', 'output_invalid']);

/** What the agent broke counts as nothing done. */
const isBroken = (ending: Ending): ending is Extract<Ending, { type: 'failed' }> =>
  ending.type === 'failed' && ending.error.code === 'agent_broke_environment';

const isJudged = (ending: Ending): boolean =>
  ending.type === 'completed' || (ending.type === 'failed' && JUDGED.has(ending.error.code));

/**
 * Verifies what the agent of a task has done when it has ended, in a fresh copy of its container and step by step. A recording is not
 * executed: what it says was found is judged again. What keeps the verification from its end is the end of the run.
 */
export async function verifyRun(scope: SegmentContext, ending: Ending): Promise<Ending> {
  const said = scope.source.verified();
  if (said && (isJudged(ending) || isBroken(ending))) tell(scope, judgedAgain(said));
  const { task } = scope.run;
  if (said !== undefined || task === null) return ending;
  if (isBroken(ending)) {
    const artifacts = task.resolved.artifacts && (await keepLeft(scope, task));
    tell(scope, { ...nothingOf(task, ending.error.message, scope.turns), ...(artifacts && { artifacts }) });
    return ending;
  }
  if (!isJudged(ending)) return withArtifacts(scope, task, ending);
  // The time that is over was the agent's.
  const { signal, release } = scope.signalWithoutLimit();
  const one = new Verification(scope, task, signal);
  try {
    tell(scope, await verify(one, ending.type === 'completed' ? ending.output : null));
    return ending;
  } catch (error) {
    if (error instanceof Unfinished) return await withArtifacts(scope, task, error.ending, one.kept);
    if (error instanceof Broken) {
      tell(scope, { ...nothingOf(task, error.message, scope.turns), ...one.artifacts });
      return ending;
    }
    throw error;
  } finally {
    release();
  }
}

function tell(scope: SegmentContext, verified: TaskVerified): void {
  scope.log.add('task.verified', verified);
  scope.verified = verified;
}

/** Where nothing is looked for. */
const SEEN: Looked = { findings: [], unseen: [] };

async function verify(one: Verification, answer: JsonValue): Promise<TaskVerified> {
  const { resolved, definitionHash, id, weights } = one.task;
  const { verification, estimatedSteps } = resolved;
  const { findings, unseen } = isLookedAt(resolved) ? await one.look(answer) : SEEN;
  await one.keepFiles();
  const process = resolved.process === undefined ? null : await one.process(resolved.process);
  const compile = await one.compile();
  const tests: TestEnd[] = [];
  for (const [index, test] of verification.tests.entries())
    tests.push(
      await one.timed(`test:${index}`, { name: `test-${index + 1}`, path: test.name }, (environment) =>
        runTest(environment, verification, test, one.bounds, resolved.expectedOutputs),
      ),
    );
  const lint = await one.lint();
  const evidence = {
    tests,
    compile,
    lint,
    findings: [...findings],
    ...(unseen.length > 0 && { unseen: [...unseen] }),
    ...(process !== null && { process: [...process] }),
    steps: one.steps,
    estimatedSteps,
  };
  const verdict = verdictOf(evidence, weights);
  const given = await one.reward({ output: answer, evidence, verdict });
  return { taskId: id, definitionHash, evidence, verdict, given, ...one.artifacts };
}

/** Of each stream of a command so much is kept; together not more than the last number. */
const OUTPUT_MOST = 4096;
const OUTPUT_LEAST = 256;
const OUTPUT_TOGETHER = 262_144;

/** The steps of one verification, and the time that is left for them. */
class Verification {
  readonly task: RunTask;
  readonly #scope: SegmentContext;
  readonly #signal: AbortSignal;
  #tookMs = 0;
  readonly #artifacts: KeptArtifacts[] = [];

  constructor(scope: SegmentContext, task: RunTask, signal: AbortSignal) {
    this.#scope = scope;
    this.task = task;
    this.#signal = signal;
  }

  get steps(): number {
    return this.#scope.turns;
  }

  get bounds() {
    const { tests, timeoutSeconds } = this.task.resolved.verification;
    const share = Math.floor(OUTPUT_TOGETHER / (tests.length + 2) / 2);
    return {
      leftMs: timeoutSeconds * 1000 - this.#tookMs,
      outputBytes: Math.max(OUTPUT_LEAST, Math.min(OUTPUT_MOST, share)),
    };
  }

  /** Throws `Unfinished` when the run must end by what came of it. */
  async step<T>(name: string, work: (environment: JudgedEnvironment) => Promise<T>): Promise<T> {
    const { ctx, run } = this.#scope;
    const place = { id: run.id, tenant: run.tenant, task: this.task };
    const step = `verify:${name}`;
    const judged = await durableStep(this.#scope, step, () =>
      inVerificationContainer(ctx, place, step, this.#signal, work),
    );
    if (judged.type === 'found') return judged.found;
    if (judged.type === 'broken') throw new Broken(judged.why);
    throw new Unfinished(judged.type === 'failed' ? judged : stopFromHalt(judged.why));
  }

  /** Looks through what the agent left and said. What it has said must be in the log before. */
  async look(answer: JsonValue): Promise<Looked> {
    const { ctx, run, log } = this.#scope;
    const answered = { place: 'answer', text: typeof answer === 'string' ? answer : JSON.stringify(answer) };
    const said = async function* () {
      yield answered;
      await log.flush();
      yield* saidByRun(ctx, run.id);
    };
    return this.step('look', ({ entries }) => lookAtFiles({ entries, said }, this.task.resolved, this.#signal));
  }

  /** Judges how the agent worked. What it did must be in the log before. */
  async process(rules: ProcessRules): Promise<readonly RuleEnd[]> {
    const { ctx, run, log } = this.#scope;
    return durableStep(this.#scope, 'verify:process', async () => {
      await log.flush();
      return lookAtProcess(ctx, run.id, rules);
    });
  }

  /** Keeps files of the workspace before anything changes them. */
  async keepFiles(): Promise<void> {
    const { artifacts: wanted, initialFiles: initial } = this.task.resolved;
    if (wanted === undefined || !wantsFiles(this.task)) return;
    const { ctx } = this.#scope;
    const owner = this.#artifactOwner();
    this.#artifacts.push(
      await this.step('artifacts', ({ entries }) => keepFiles(ctx, owner, { entries, initial, wanted }, this.#signal)),
    );
  }

  /** So far. */
  get kept(): readonly KeptArtifacts[] {
    return this.#artifacts;
  }

  get artifacts(): Pick<TaskVerified, 'artifacts'> {
    return this.task.resolved.artifacts === undefined ? {} : { artifacts: allArtifacts(this.#artifacts) };
  }

  #artifactOwner(): ArtifactOwner {
    const { id } = this.#scope.run;
    const taken = this.#artifacts.flatMap(({ items }) => items).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    return { id, bytesLeft: ARTIFACTS_BYTES - taken };
  }

  /** A command of the verification, and what it printed, if that is kept. */
  async timed<T>(
    name: string,
    output: { readonly name: string; readonly path: string },
    work: (environment: JudgedEnvironment) => Promise<Timed<T>>,
  ): Promise<T> {
    const { ctx } = this.#scope;
    const owner = this.#artifactOwner();
    const isKept = this.task.resolved.artifacts?.commandOutput === true;
    const { end, tookMs, artifacts } = await this.step(name, async (environment) => {
      if (!isKept) return { ...(await work(environment)), artifacts: null };
      const keeping = keepingOutput(environment);
      const done = await work(keeping.environment);
      return { ...done, artifacts: await keeping.end(ctx, owner, output.name, output.path) };
    });
    this.#tookMs += tookMs;
    if (artifacts !== null) this.#artifacts.push(artifacts);
    return end;
  }

  async compile(): Promise<CommandEnd | null> {
    const { verification } = this.task.resolved;
    const { compile } = verification;
    if (compile === null) return null;
    return this.timed('compile', { name: 'compile', path: 'compile' }, (environment) =>
      runCompile(environment, verification, compile, this.bounds),
    );
  }

  async lint(): Promise<CommandEnd | null> {
    const { verification } = this.task.resolved;
    const { lint } = verification;
    if (lint === null) return null;
    return this.timed('lint', { name: 'lint', path: 'lint' }, (environment) =>
      runLint(environment, verification, lint, this.bounds),
    );
  }

  async reward(found: Pick<TaskVerified, 'evidence' | 'verdict'> & { readonly output: JsonValue }) {
    const { ctx, run } = this.#scope;
    const { task } = this;
    const name = task.rewardFunction;
    if (name === null) return null;
    const facts = { ...found, runId: run.id, task };
    return this.step('reward', (environment) => askReward(ctx, name, facts, environment, this.#signal));
  }
}

/** The verdict on what an agent broke: no test was run, and none passed. */
function nothingOf({ id, definitionHash, resolved, weights }: RunTask, broken: string, steps: number): TaskVerified {
  const unrun = { exitCode: null, timedOut: false, outOfMemory: false, stdout: '', stderr: '', omittedBytes: 0 };
  const tests = resolved.verification.tests.map(({ name, weight }) => ({ ...unrun, name, weight, share: 0 }));
  const { estimatedSteps } = resolved;
  const evidence = {
    tests,
    compile: null,
    lint: null,
    findings: [],
    broken: broken.slice(0, 1000),
    steps,
    estimatedSteps,
  };
  return { taskId: id, definitionHash, evidence, verdict: verdictOf(evidence, weights), given: null };
}

/** Thrown where nothing more can be judged, by what the agent left. */
class Broken extends Error {}

/** Thrown where the verification cannot go on. */
class Unfinished extends Error {
  readonly ending: Ending;

  constructor(ending: Ending) {
    super(`the verification ends: ${ending.type}`);
    this.ending = ending;
  }
}
