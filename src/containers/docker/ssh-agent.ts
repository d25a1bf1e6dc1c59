import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { Agent } from 'node:http';
import { Duplex } from 'node:stream';
import type { EnginePlace } from '../../core/containers/engine-address.js';

type SshPlace = Extract<EnginePlace, { type: 'ssh' }>;

const CONNECT_SECONDS = 10;
const ALIVE_SECONDS = 15;
const IDLE_MOST = 4;
/** How much of what ssh says stands in an error. */
const SAID_CHARS = 300;

/** What `docker` does there: joins our connection with that of the engine. */
function argumentsOf({ user, host, port, path }: SshPlace): readonly string[] {
  const options = [
    'BatchMode=yes',
    `ConnectTimeout=${CONNECT_SECONDS}`,
    `ServerAliveInterval=${ALIVE_SECONDS}`,
    'ServerAliveCountMax=3',
  ];
  return [
    ...options.flatMap((option) => ['-o', option]),
    '-T',
    ...(port === null ? [] : ['-p', String(port)]),
    '--',
    user === null ? host : `${user}@${host}`,
    ...(path === null
      ? ['docker', 'system', 'dial-stdio']
      : ['docker', '--host', quoted(`unix://${path}`), 'system', 'dial-stdio']),
  ];
}

/** A word for the shell of the other machine. */
const quoted = (word: string): string => `'${word.split("'").join("'\\''")}'`;

/** Connections to an engine on another machine by the program `ssh`, with its keys, its known hosts and its configuration. */
export class SshAgent extends Agent {
  readonly #place: SshPlace;

  constructor(place: SshPlace) {
    super({ keepAlive: true, maxFreeSockets: IDLE_MOST });
    this.#place = place;
  }

  override createConnection(): Duplex {
    return new SshConnection(argumentsOf(this.#place));
  }
}

/** What went wrong when the program ended. Its code is that of a refused connection, so that the engine counts as away. */
class SshEnded extends Error {
  readonly code = 'ECONNREFUSED';

  constructor(why: string) {
    super(`ssh: ${why}`);
    this.name = 'SshEnded';
  }
}

/** Input and output of a program, as the connection that an HTTP client takes it for. */
class SshConnection extends Duplex {
  readonly #child: ChildProcessWithoutNullStreams;
  #said = '';

  constructor(args: readonly string[]) {
    super();
    this.#child = spawn('ssh', [...args], { stdio: 'pipe' });
    this.#child.stdout.on('data', (bytes: Buffer) => {
      if (!this.push(bytes)) this.#child.stdout.pause();
    });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#said = (this.#said + text).slice(-SAID_CHARS);
    });
    // What cannot be written was for a program that has ended, and its end says why.
    this.#child.stdin.on('error', () => undefined);
    this.#child.on('error', (error) => this.destroy(new SshEnded(error.message)));
    this.#child.on('close', (code, signal) => {
      if (code === 0) this.push(null);
      else this.destroy(new SshEnded(lastLine(this.#said) ?? `ended with ${signal ?? `code ${code}`}`));
    });
  }

  override _read(): void {
    this.#child.stdout.resume();
  }

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    this.#child.stdin.write(bytes, (error) => {
      if (error === null || error === undefined) done();
    });
  }

  override _final(done: () => void): void {
    this.#child.stdin.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#child.kill();
    done(error);
  }

  // An HTTP client sets these of its sockets.
  setKeepAlive = (): this => this;
  setNoDelay = (): this => this;
  setTimeout = (): this => this;
  ref = (): this => this;
  unref = (): this => this;
}

/** The last line that it said, without what a terminal would act on; null: it said nothing. */
function lastLine(said: string): string | null {
  const lines = said.split('\n').map((line) => line.trim());
  const line = lines.filter((one) => one !== '').at(-1);
  return line === undefined ? null : [...line].filter((char) => char >= ' ' && char !== '\u007f').join('');
}
