import type { Place } from './place.js';

/** One of the two that are compared, at work in a process of its own. */
export interface Side {
  /** Runs the agent to its end. */
  run(turns: number): Promise<void>;
  /** Starts a run and does not wait for it. */
  start(turns: number): Promise<void>;
  /** Starts a run that waits for a person. Resolves, when it waits, to its id. */
  pause(): Promise<string>;
  /** Decides; resolves, when the step after the decision begins, to the milliseconds in between. */
  decide(id: string): Promise<number>;
  /** How many runs of the database have come to their end. */
  ended(): Promise<number>;
  stop(): Promise<void>;
}

/** Those that everything is measured of. */
export type ComparedSide = 'holdfast' | 'dbos';
export type SideName = ComparedSide | 'langgraph' | 'restate';

/** What a process is to do, and on which database. */
export interface Job {
  readonly side: SideName;
  readonly place: Place;
  readonly workerId: string;
  /** Runs at once in the process. */
  readonly concurrency: number;
  /** How long the model takes. */
  readonly modelMs: number;
  /** What Holdfast's tool declares. */
  readonly effect: 'pure' | 'unsafe';
  readonly work: Work;
}

export type Work =
  /** Runs so many runs, so many at once; says how many per second. */
  | {
      readonly type: 'runs';
      readonly turns: number;
      /** Runs before the first level that do not count. */
      readonly warmUp: number;
      readonly levels: readonly { readonly atOnce: number; readonly runs: number }[];
    }
  /** Runs one run of each length; says how long each took, in milliseconds. */
  | { readonly type: 'lengths'; readonly turns: readonly number[] }
  | { readonly type: 'decisions'; readonly count: number }
  /** Runs all of them at once; says how long each took, and what memory they took. */
  | { readonly type: 'together'; readonly runs: number; readonly turns: number }
  /** Starts runs and kills itself when half of their calls were made. */
  | { readonly type: 'die'; readonly runs: number; readonly turns: number }
  /** Says when so many runs have come to their end, those of processes before included, and goes on until it is killed. */
  | { readonly type: 'finish'; readonly runs: number }
  /** Lets runs wait, says what memory that takes, and goes on until it is killed. */
  | { readonly type: 'paused'; readonly warmUp: number; readonly count: number; readonly settleMs: number }
  /** Starts runs for others too, and goes on until it is killed. */
  | { readonly type: 'serve'; readonly runs: number; readonly turns: number };

/** What runs took that were all at work at once. */
export interface Together {
  /** Milliseconds from the start of all to the end of each. */
  readonly each: readonly number[];
  /** Added memory of the process, at most. */
  readonly bytes: number;
}
