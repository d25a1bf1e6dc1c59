import type { RunEvent } from '../core/log/event.js';
import type { DemoClient } from './client.js';
import { Decisions } from './decisions.js';
import { type Kill, type Moment, momentOf } from './moment.js';
import { Narrator } from './narrate.js';
import { type Place, paymentsIn } from './place.js';
import type { DemoServer } from './server.js';
import { type Story, seconds } from './story.js';

export interface Props {
  readonly client: DemoClient;
  readonly server: DemoServer;
  readonly place: Place;
  readonly story: Story;
  readonly signal: AbortSignal;
}

/** One run, from its start to its end, through kills, restarts and decisions. */
export class Stage {
  readonly events: RunEvent[] = [];
  readonly killed = new Set<Kill>();
  readonly #props: Props;
  readonly #runId: string;
  readonly #decisions = new Decisions();
  readonly #narrator: Narrator;
  #killedAt: number | null = null;

  constructor(props: Props, runId: string) {
    this.#props = props;
    this.#narrator = new Narrator(props.story);
    this.#runId = runId;
  }

  async play(): Promise<void> {
    for (;;) {
      const moment = await this.#watch();
      if (moment.type === 'over') return;
      if (moment.type === 'kill') await this.#killAndRestart(moment.kill, moment.text);
      if (moment.type === 'paused' || (moment.type === 'kill' && moment.kill === 'paused')) await this.#decide();
    }
  }

  /** Follows the log, each event once across all restarts, until something is to do. */
  async #watch(): Promise<Moment> {
    const { client, signal, place } = this.#props;
    const watch = {
      killed: this.killed,
      payments: () => paymentsIn(place),
      approvalWaits: async () => (await this.#pending()).some(({ reason }) => reason.code !== 'unknown_effect'),
    };
    for await (const event of client.streamEvents(this.#runId, this.events.length, signal)) {
      this.events.push(event);
      this.#tellRecovery();
      this.#narrator.tell(event);
      const moment = await momentOf(event, watch);
      if (moment !== null) return moment;
    }
    return { type: 'over' };
  }

  #tellRecovery(): void {
    if (this.#killedAt === null) return;
    this.#props.story.tell(
      'recovered',
      `the run goes on, ${seconds(performance.now() - this.#killedAt)} after the kill`,
      'good',
    );
    this.#killedAt = null;
  }

  async #killAndRestart(kill: Kill, text: string): Promise<void> {
    const { server, story, signal, client } = this.#props;
    story.tell('KILL -9', text, 'bad');
    await server.kill();
    this.killed.add(kill);
    const killedAt = performance.now();
    await server.start(signal);
    const ready = `the server is back after ${seconds(performance.now() - killedAt)}`;
    if (kill !== 'paused') {
      story.tell('restart', ready);
      this.#killedAt = killedAt;
      return;
    }
    const { status, interruptions } = await client.getRun(this.#runId);
    story.tell('restart', `${ready}; the run is still ${status}; decisions awaited: ${interruptions.length}`, 'good');
  }

  async #decide(): Promise<void> {
    const { client, story, place } = this.#props;
    for (const one of await this.#pending()) {
      story.tell('question', one.reason.text);
      const { request, why } = this.#decisions.decide(one, paymentsIn(place));
      story.tell('decision', `over HTTP: ${request.verdict} (${why})`);
      await client.decide(one.id, request);
    }
  }

  #pending = async () => {
    const { client } = this.#props;
    return (await client.listInterruptions({ run: this.#runId, status: 'pending', limit: 200 })).items;
  };
}
