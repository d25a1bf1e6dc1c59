import { describe, expect, it } from 'vitest';
import type { Checkpoint, StepToSave } from '../../src/storage/dbos/checkpoints.js';
import { StepsAhead } from '../../src/storage/dbos/steps-ahead.js';

const stepOf = (functionId: number): StepToSave => ({
  call: null,
  step: {
    ...{ workflowId: 'w', functionId, functionName: `step ${functionId}`, owner: 'me', output: null, error: null },
    ...{ childWorkflowID: null, serialization: null, startedAt: 1, completedAt: functionId, application: null },
  } satisfies Checkpoint,
});
const numbersOf = (steps: readonly StepToSave[]) => steps.map(({ step }) => step.functionId);

/** A database that answers when it is told to. */
class Database {
  readonly asked: number[][] = [];
  #answers: ((kept: readonly (number | null)[]) => void)[] = [];
  #refusals: ((error: unknown) => void)[] = [];

  readonly save = (steps: readonly StepToSave[]): Promise<readonly (number | null)[]> => {
    this.asked.push(numbersOf(steps));
    return new Promise((resolve, reject) => {
      this.#answers.push(resolve);
      this.#refusals.push(reject);
    });
  };

  /** Answers the oldest statement. */
  async answer(kept: readonly (number | null)[]): Promise<void> {
    this.#refusals.shift();
    this.#answers.shift()?.(kept);
    await settled();
  }

  async refuse(error: Error): Promise<void> {
    this.#answers.shift();
    this.#refusals.shift()?.(error);
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const fine = (): void => undefined;
const kept = (keptAt: number | null): void => {
  if (keptAt === null) throw new Error('not kept');
};

describe('the steps of one execution', () => {
  it('leave one statement after the other, and those that are ready meanwhile leave together', async () => {
    const database = new Database();
    const steps = new StepsAhead(database.save);
    await steps.goAhead(stepOf(1), fine);
    await steps.goAhead(stepOf(2), fine);
    const third = steps.keep(stepOf(3), fine);
    expect(database.asked).toEqual([[1]]);
    await database.answer([1]);
    expect(database.asked).toEqual([[1], [2, 3]]);
    await database.answer([2, 3]);
    await third;
    expect(steps.isBehind).toBe(false);
  });

  it('are waited for by what lasts, and not by what goes ahead', async () => {
    const database = new Database();
    const steps = new StepsAhead(database.save);
    await steps.goAhead(stepOf(1), fine);
    let isDurable = false;
    const durable = steps.durable().then(() => {
      isDurable = true;
    });
    await settled();
    expect([steps.isBehind, isDurable]).toEqual([true, false]);
    await database.answer([1]);
    await durable;
    expect(steps.isBehind).toBe(false);
  });

  it('are eight at most on their way', async () => {
    const database = new Database();
    const steps = new StepsAhead(database.save);
    for (let n = 1; n <= 8; n++) await steps.goAhead(stepOf(n), fine);
    let goesOn = false;
    const ninth = steps.goAhead(stepOf(9), fine).then(() => {
      goesOn = true;
    });
    await settled();
    expect(goesOn).toBe(false);
    await database.answer([1]);
    await database.answer([2, 3, 4, 5, 6, 7, 8, 9]);
    await ninth;
    expect(database.asked).toEqual([[1], [2, 3, 4, 5, 6, 7, 8, 9]]);
  });

  it('end with the first that is not kept: none after it is sent, and everything that lasts hears of it', async () => {
    const database = new Database();
    const steps = new StepsAhead(database.save);
    await steps.goAhead(stepOf(1), kept);
    await steps.goAhead(stepOf(2), kept);
    await database.answer([null]);
    expect(database.asked).toEqual([[1]]);
    await expect(steps.durable()).rejects.toThrow('not kept');
    await expect(steps.keep(stepOf(3), kept)).rejects.toThrow('not kept');
    expect([steps.isBehind, database.asked.length]).toEqual([true, 1]);
  });

  it('end with a statement that fails', async () => {
    const database = new Database();
    const steps = new StepsAhead(database.save);
    await steps.goAhead(stepOf(1), kept);
    const next = steps.keep(stepOf(2), kept);
    const refused = expect(next).rejects.toThrow('the disk is full');
    await database.refuse(new Error('the disk is full'));
    await refused;
    await expect(steps.durable()).rejects.toThrow('the disk is full');
  });
});
