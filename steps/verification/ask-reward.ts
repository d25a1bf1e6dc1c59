import { HoldfastError } from '../../src/core/errors/errors.js';
import type { JsonValue } from '../../src/core/json.js';
import type { RunTask } from '../../src/core/tasks/resolve-task.js';
import { type Evidence, givenReward, type TaskVerified, type Verdict } from '../../src/core/tasks/task-reward.js';
import type { ToolEnvironment } from '../../src/core/tools/tool-environment.js';
import { unlessAborted } from '../../src/models/providers/abort.js';
import { catchingLate } from '../calls/late-throws.js';
import type { StepContext } from '../context.js';

/** Asks a reward function of the configuration. Throws `reward_unknown`, and what is wrong with what it gave. */
export async function askReward(
  ctx: Pick<StepContext, 'rewards'>,
  name: string,
  facts: {
    readonly runId: string;
    readonly task: RunTask;
    readonly output: JsonValue;
    readonly evidence: Evidence;
    readonly verdict: Verdict;
  },
  environment: ToolEnvironment,
  signal: AbortSignal,
): Promise<NonNullable<TaskVerified['given']>> {
  const ask = ctx.rewards.get(name);
  if (ask === undefined)
    throw new HoldfastError('reward_unknown', `This worker has no reward function ${JSON.stringify(name)}.`);
  const { runId, output, evidence, verdict } = facts;
  const { resolved, parameters } = facts.task;
  const late = AbortSignal.timeout(resolved.verification.timeoutSeconds * 1000);
  const within = AbortSignal.any([signal, late]);
  const task = {
    ...{ name: resolved.name, version: resolved.version, parameters },
    ...{ seed: resolved.seed, metadata: resolved.metadata },
  };
  const asked = { task, runId, output, evidence, verdict, environment };
  const code = { what: `the reward function ${name}`, runId, tool: null, callId: null };
  const said = givenReward.safeParse(
    await unlessAborted(
      catchingLate(code, (inside) => ask({ ...asked, signal: inside }), within),
      within,
    ),
  );
  if (said.success) return { ...said.data, name };
  const [issue] = said.error.issues;
  throw new Error(
    `the function ${name} gave what is no reward at /${issue?.path.join('/') ?? ''}: ${issue?.message ?? ''}`,
  );
}
