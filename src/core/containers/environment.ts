import type { EnvironmentSpec } from './environment-spec.js';
import type { EngineImage } from './image-collection.js';

/**
 * The contract of an environment: where the commands of a run execute. src/containers has it for engines that speak Docker's
 * API. Everything here throws `engine_unreachable` when the engine is away (never a result), and `environment_failed`,
 * `environment_lost`, `environment_conflict`, `environment_unenforceable` or `image_unknown` for what can be named.
 */

/** What an agent says of the environment of its runs. */
export interface AgentEnvironment {
  readonly spec: EnvironmentSpec;
  /** Reads the secrets by their names. Throws `secret_unreadable`. */
  readonly secrets: () => Promise<ReadonlyMap<string, string>>;
  /**
   * What becomes of a command that was begun and whose end no one knows. `ask`, also silently: what its call has done is unknown. `restart`:
   * the run ends, since its task begins another one.
   */
  readonly onUnknown?: 'ask' | 'restart';
}

/**
 * `run`: where its commands execute. `verification`: where that run is judged, on a copy of its files. `snapshot`: a copy of its files that is
 * kept, and never started.
 */
export type EnvironmentPurpose = 'run' | 'verification' | 'snapshot';

export interface EnvironmentName {
  /** Which Holdfast: a name of its database, so that several share an engine. */
  readonly instance: string;
  readonly runId: string;
  readonly purpose: EnvironmentPurpose;
  /** Counts up where a run must begin on a new container. */
  readonly attempt: number;
}

/** By what an environment is found again, no matter who asks. It is kept before anything of it exists. */
export interface EnvironmentIdentity extends EnvironmentName {
  /** Whose files it begins with; null: none. Of the same instance and engine, and not in use any more. */
  readonly source: EnvironmentName | null;
  readonly spec: EnvironmentSpec;
  readonly specHash: string;
  /** When the one that finds it and does not know it may remove it. ISO 8601. */
  readonly deadline: string;
}

const LETTERS: { readonly [purpose in EnvironmentPurpose]: string } = { run: 'a', verification: 'v', snapshot: 's' };

export const isPurpose = (text: string): text is EnvironmentPurpose => Object.hasOwn(LETTERS, text);

/** The name is the compare-and-set: an engine has one container of a name. */
export const environmentName = ({ instance, runId, purpose, attempt }: EnvironmentName): string =>
  `holdfast-${instance}-${runId}-${LETTERS[purpose]}${attempt}`;

/** One stream of a command: its beginning, and how much more there was. */
export interface Output {
  readonly text: string;
  readonly omittedBytes: number;
}

export interface Command {
  /** Under it the outcome is kept: the one that asks again gets that, and nothing runs twice. 32 hexadecimal digits. */
  readonly id: string;
  /** Program and arguments; no shell reads them. */
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly timeoutSeconds: number;
  /** Kept of each stream. */
  readonly maxOutputBytes: number;
}

/** What is at a place before a command that judges begins. */
export interface JudgedFile {
  /** Absolute, without a line break. */
  readonly path: string;
  readonly bytes: Buffer;
  /** As `644`. */
  readonly mode: string;
}

/** What is removed, made and written before a command that judges, in this order. All of it belongs to the user of the tests. */
export interface JudgedPlace {
  readonly remove: readonly string[];
  readonly make: readonly string[];
  readonly files: readonly JudgedFile[];
}

/** `blocked`: it was not run, since something cannot be removed or written. */
export type JudgedOutcome = CommandOutcome | { readonly type: 'blocked' };

export type CommandOutcome =
  | {
      readonly type: 'ended';
      readonly exitCode: number;
      /** It was ended because its time was over, and what it had started with it. */
      readonly timedOut: boolean;
      /** The kernel ended a process in the container while it worked, because memory was used up. */
      readonly outOfMemory: boolean;
      readonly stdout: Output;
      readonly stderr: Output;
    }
  /** It was begun, and what ended it recorded nothing: the container was stopped, or its processes were killed. */
  | { readonly type: 'unknown' };

export interface FoundFile {
  /** Where it really is, links resolved. */
  readonly path: string;
  readonly bytes: Buffer;
}

/** Something of a directory, as an archive of it has it. */
export interface FoundEntry {
  /** Relative to the directory, which is itself the first one. */
  readonly path: string;
  readonly size: number;
  /** A regular file. */
  readonly isFile: boolean;
  /** Whether its owner may execute it. */
  readonly executable: boolean;
  /** Where a link leads; null: it is none. */
  readonly link: string | null;
  /** The path of an entry before that is the same file by another name, a hard link; null: none is. */
  readonly sameAs: string | null;
  /** Its bytes, to be read before the next entry. */
  readonly content: () => AsyncIterable<Buffer>;
}

/** A container that runs. */
export interface Environment {
  /** Runs a command once, however often it is asked for: a later caller waits for the outcome of the first execution. */
  run(command: Command, signal: AbortSignal): Promise<CommandOutcome>;
  /**
   * The same where a run is judged, with its files. It runs as the user of the tests; the engine says how it ended. Before it, whatever
   * commands before it have left at work is ended, and after it what it has left.
   */
  judge(command: Command, place: JudgedPlace, signal: AbortSignal): Promise<JudgedOutcome>;
  /** Throws `file_unreadable` for what is no regular file, cannot be read or is larger. */
  read(path: string, maxBytes: number, signal: AbortSignal): Promise<FoundFile>;
  /** The same for a file that the user of the tests has written, and for no link to one. */
  readOwn(path: string, maxBytes: number, signal: AbortSignal): Promise<FoundFile>;
  /** Everything of the workspace, by the engine itself: no program of the container has a part in it. Throws `file_unreadable`. */
  entries(signal: AbortSignal): AsyncIterable<FoundEntry>;
  /** Writes a file whole or not at all; writing the same again changes nothing. Throws `file_unwritable`. */
  write(path: string, bytes: Buffer, signal: AbortSignal): Promise<void>;
  /** Ends everything that works in it, and what it has in memory. What comes next starts it again. */
  end(signal: AbortSignal): Promise<void>;
}

/** What an engine has of us. */
export interface LabelledEnvironment extends EnvironmentName {
  readonly name: string;
  readonly deadline: string;
}

/** What is kept of the images of an engine, so that those that no one needs can go. */
export interface ImageRecords {
  /** Called before a container is made of an image. False: the image is being removed; the engine is to be asked again whether it has it. */
  readonly use: (id: string) => Promise<boolean>;
  /** Called with an image after a pull: with the names that it got, and whether the engine did not have it before. */
  readonly pulled: (image: {
    readonly id: string;
    readonly names: readonly string[];
    readonly isNew: boolean;
  }) => Promise<void>;
}

export interface OpenOptions {
  readonly begun: boolean;
  readonly starting: () => Promise<void>;
  /** Asked after each start, if there are any. */
  readonly secrets: AgentEnvironment['secrets'];
  /** Absent: nothing is kept of images. */
  readonly records?: ImageRecords;
  /** Whether its first command may be what looks at it from inside: that one waits for it, and throws what opening it would. */
  readonly lookLater?: boolean;
  readonly signal: AbortSignal;
}

export interface EngineMachine {
  readonly cpuCores: number;
  readonly memoryMb: number;
  /** As images name it: `amd64`. */
  readonly architecture: string;
}

export interface EnvironmentEngine {
  /** Whether it answers; one that is away is not waited for. All who ask at once ask once. */
  look(): Promise<void>;
  /** Containers are on one engine: this is its name. */
  id(signal: AbortSignal): Promise<string>;
  /** What its machine has, in all. */
  machine(signal: AbortSignal): Promise<EngineMachine>;
  /**
   * Makes sure that the container runs: makes it, starts it, finds it again. `begun`: it was started before, so that one that is
   * not there any more is lost (`environment_lost`) and never made again in silence. `starting` is called before its first start.
   * One that has a source begins with a copy of its files: the workspace, and the root where it can be written to. The source is stopped
   * for it; what is recorded of its commands is taken over too, except by a verification.
   */
  open(identity: EnvironmentIdentity, options: OpenOptions): Promise<Environment>;
  /** Makes it with the files of its source, which is stopped for it, and does not start it. */
  keep(identity: EnvironmentIdentity, signal: AbortSignal): Promise<void>;
  /** Stops it, and keeps its files. What works in it ends. One that is not there is stopped. */
  stop(name: EnvironmentName, signal: AbortSignal): Promise<void>;
  /** Removes it with its files. */
  remove(name: EnvironmentName, signal: AbortSignal): Promise<void>;
  /** Pulls an image that the engine lacks, as the policy allows. Throws `image_refused`, `image_unknown`, `secret_unreadable`. */
  pull(image: string, records: ImageRecords, signal: AbortSignal): Promise<void>;
  /** Every image that the engine has. */
  images(signal: AbortSignal): Promise<readonly EngineImage[]>;
  /** What they take together. */
  imageBytes(signal: AbortSignal): Promise<number>;
  /** Removes an image. False: something uses it. One that is not there is removed. */
  removeImage(image: Pick<EngineImage, 'id' | 'names'>, signal: AbortSignal): Promise<boolean>;
  /** Ends what this process does for containers that run. They go on. */
  close(): void;
  /** Every container, volume and image of an instance, each environment once. */
  list(instance: string, signal: AbortSignal): Promise<readonly LabelledEnvironment[]>;
}
