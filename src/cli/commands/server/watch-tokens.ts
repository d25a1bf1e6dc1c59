import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { parseTokens, type Token } from '../../../core/access-token.js';
import type { EngineLog } from '../../../core/ops/log-record.js';

/** A token that is removed is refused within a second. */
const LOOK_MS = 300;
const SETTING = 'HOLDFAST_TOKENS_FILE';

/**
 * Reads the file of tokens again when it changes and when the process gets SIGHUP, which does nothing else. A file that cannot be read,
 * or holds no list, changes nothing. `file` null: SIGHUP does nothing. Gives what ends it.
 */
export function watchTokens(file: string | null, use: (tokens: readonly Token[]) => void, log: EngineLog): () => void {
  const watch = file === null ? null : new TokenFile(file, use, log);
  const onSignal = (): void => {
    if (watch !== null) watch.readNow('SIGHUP');
    else log.info({ component: 'process', event: 'nothing_read_again', why: 'SIGHUP' }, 'there is no file of tokens');
  };
  process.on('SIGHUP', onSignal);
  return () => {
    process.off('SIGHUP', onSignal);
    watch?.end();
  };
}

/** Looks at what a file says, whichever file is at its path. What it says at first is taken, since it was read before. */
class TokenFile {
  readonly #file: string;
  readonly #use: (tokens: readonly Token[]) => void;
  readonly #log: EngineLog;
  readonly #timer: NodeJS.Timeout;
  #last: string | null = null;
  #looking = false;

  constructor(file: string, use: (tokens: readonly Token[]) => void, log: EngineLog) {
    this.#file = file;
    this.#use = use;
    this.#log = log;
    this.readNow('the server started');
    this.#timer = setInterval(() => void this.#look(), LOOK_MS).unref();
  }

  readNow(why: string): void {
    try {
      this.#last = readFileSync(this.#file, 'utf8');
    } catch {
      this.#last = null;
    }
    this.#take(why);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    const content = await readFile(this.#file, 'utf8').catch(() => null);
    this.#looking = false;
    if (content === this.#last) return;
    this.#last = content;
    this.#take('the file changed');
  }

  #take(why: string): void {
    const about = { why, file: this.#file };
    try {
      if (this.#last === null) throw new Error('The file cannot be read.');
      const tokens = parseTokens(SETTING, this.#last);
      this.#use(tokens);
      this.#log.info(
        { component: 'process', event: 'tokens_read', count: tokens.length, ...about },
        'the tokens were read',
      );
    } catch (err) {
      this.#log.error(
        { component: 'process', event: 'tokens_unreadable', err, ...about },
        'the tokens stay as they were',
      );
    }
  }
}
