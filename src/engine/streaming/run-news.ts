import { z } from 'zod';
import { packed } from './delta-feed.js';

export interface RunNewsOptions {
  readonly newId: () => string;
  /** Sends notifications to the other processes; null: there are none. */
  readonly send: ((payloads: readonly string[]) => Promise<void>) | null;
  /** Another process has changed a run, or only its log. */
  readonly onChange: (runId: string, what: 'run' | 'log') => void;
}

/** A process says so often that it is there and what it follows, and is believed for so long. */
const FOLLOWING_EVERY_MS = 5_000;
const FOLLOWED_FOR_MS = 15_000;
/** A change is told to a process that begins to follow the run so long after it. */
const RECENT_MS = 2_000;
const RECENT_MAX = 1_000;

/** Distinguishes these notifications from those of deltas, which share their channel. */
const MARK = 'n';

const message = z.discriminatedUnion('what', [
  /** A process that has just started asks which others there are. */
  z.object({ what: z.literal('asking'), from: z.string() }),
  /** Runs that clients of the process wait for; none where it only says that it is there. */
  z.object({ what: z.literal('follows'), from: z.string(), items: z.array(z.string()), fresh: z.boolean() }),
  z.object({ what: z.literal('run'), from: z.string(), items: z.array(z.string()) }),
  z.object({ what: z.literal('log'), from: z.string(), items: z.array(z.string()) }),
]);

/**
 * Tells a process that waits for a run what another one does with it, so that it need not look again and again. Nothing is sent for runs
 * that no other process follows, and nothing at all where there is no other one. News may be lost: who waits also looks by itself.
 */
export class RunNews {
  readonly #options: RunNewsOptions;
  readonly #me: string;
  readonly #following = new Map<string, number>();
  /** Runs that other processes follow, and until when. */
  readonly #followed = new Map<string, number>();
  /** What this process changed lately, and when. */
  readonly #recent = new Map<string, number>();
  readonly #toTell = { run: new Set<string>(), log: new Set<string>() };
  readonly #saying: NodeJS.Timeout | undefined;
  /** The other processes, and until when each is believed to be there. */
  readonly #others = new Map<string, number>();
  #telling = false;
  #closed = false;

  constructor(options: RunNewsOptions) {
    this.#options = options;
    this.#me = options.newId();
    if (options.send === null) return;
    this.#saying = setInterval(() => {
      const now = performance.now();
      for (const known of [this.#followed, this.#others])
        for (const [name, until] of known) if (until <= now) known.delete(name);
      this.#sayFollowing();
    }, FOLLOWING_EVERY_MS).unref();
  }

  /** How many other processes were heard lately. */
  get others(): number {
    return this.#others.size;
  }

  /** Has other processes tell of the run from now on. To be closed after. */
  follow(runId: string): () => void {
    if (this.others === 0) return () => undefined;
    const count = this.#following.get(runId) ?? 0;
    this.#following.set(runId, count + 1);
    if (count === 0) this.#send(payloadsOf({ what: 'follows', from: this.#me, fresh: true }, [runId]));
    return () => {
      const left = (this.#following.get(runId) ?? 1) - 1;
      if (left > 0) this.#following.set(runId, left);
      else this.#following.delete(runId);
    };
  }

  /** This process has changed a run, or only its log. */
  changed(runId: string, what: 'run' | 'log'): void {
    if (this.#options.send === null || this.#closed) return;
    if (what === 'run') this.#remember(runId);
    if ((this.#followed.get(runId) ?? 0) > performance.now()) this.#tell(runId, what);
  }

  /** Takes a notification of another process, or of this one. */
  receive(text: string): void {
    const news = read(text);
    if (news === null || news.from === this.#me) return;
    this.#others.set(news.from, performance.now() + FOLLOWED_FOR_MS);
    if (news.what === 'asking') this.#sayFollowing();
    else if (news.what === 'follows') for (const runId of news.items) this.#follow(runId, news.fresh);
    else for (const runId of news.items) this.#options.onChange(runId, news.what);
  }

  /** To be called when notifications arrive: the others say that they are there. */
  greet(): void {
    this.#send([MARK + JSON.stringify({ what: 'asking', from: this.#me })]);
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#saying);
  }

  #sayFollowing(): void {
    const head = { what: 'follows', from: this.#me, fresh: false };
    const runIds = [...this.#following.keys()];
    this.#send(runIds.length === 0 ? [MARK + JSON.stringify({ ...head, items: [] })] : payloadsOf(head, runIds));
  }

  #follow(runId: string, fresh: boolean): void {
    const now = performance.now();
    this.#followed.set(runId, now + FOLLOWED_FOR_MS);
    const changedAt = this.#recent.get(runId);
    // It may have looked before the change, and said that it follows after it.
    if (fresh && changedAt !== undefined && now - changedAt < RECENT_MS) this.#tell(runId, 'run');
  }

  #remember(runId: string): void {
    this.#recent.delete(runId);
    this.#recent.set(runId, performance.now());
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > RECENT_MAX && oldest !== undefined) this.#recent.delete(oldest);
  }

  /** One statement at a time: what comes meanwhile goes with the next. */
  #tell(runId: string, what: 'run' | 'log'): void {
    this.#toTell[what].add(runId);
    if (this.#telling) return;
    this.#telling = true;
    setImmediate(() => void this.#tellAll());
  }

  async #tellAll(): Promise<void> {
    const { run, log } = this.#toTell;
    while (run.size + log.size > 0 && !this.#closed) {
      const changed = [...run];
      const grown = [...log].filter((runId) => !run.has(runId));
      run.clear();
      log.clear();
      const from = this.#me;
      const payloads = [...payloadsOf({ what: 'run', from }, changed), ...payloadsOf({ what: 'log', from }, grown)];
      await this.#options.send?.(payloads).catch(() => undefined);
    }
    this.#telling = false;
  }

  #send(payloads: readonly string[]): void {
    if (!this.#closed) void this.#options.send?.(payloads).catch(() => undefined);
  }
}

const payloadsOf = (head: object, runIds: readonly string[]): string[] =>
  packed(head, runIds).map((payload) => MARK + payload);

function read(text: string): z.infer<typeof message> | null {
  if (!text.startsWith(MARK)) return null;
  try {
    return message.safeParse(JSON.parse(text.slice(MARK.length))).data ?? null;
  } catch {
    return null;
  }
}
