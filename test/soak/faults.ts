import { setTimeout as sleep } from 'node:timers/promises';
import type { OwnPostgres } from '../harness/own-postgres.js';
import type { Network } from '../workers/proxy.js';
import type { Place } from './crew.js';

export interface Victims {
  readonly crew: readonly Place[];
  readonly postgres: OwnPostgres;
  readonly network: Network;
  readonly random: () => number;
}

/** False: there was no one to hurt. */
type Fault = (victims: Victims) => Promise<boolean>;

/** One of the workers that may be hurt and work now. */
const someone = ({ crew, random }: Victims): Place | undefined => {
  const up = crew.filter((place) => !place.isSpared && place.isUp && !place.isFrozen);
  return up[Math.floor(random() * up.length)];
};

const between = (random: () => number, least: number, most: number): number => least + random() * (most - least);

const hurt =
  (harm: (one: Place, victims: Victims) => Promise<void> | void): Fault =>
  async (victims) => {
    const one = someone(victims);
    if (one !== undefined) await harm(one, victims);
    return one !== undefined;
  };

const restart =
  (mode: 'fast' | 'immediate'): Fault =>
  async ({ postgres, random }) => {
    await postgres.stop(mode);
    await sleep(between(random, 0, 2000));
    await postgres.start();
    return true;
  };

const FAULTS: Readonly<Record<string, { readonly weight: number; readonly happen: Fault }>> = {
  SIGKILL: { weight: 4, happen: hurt((one) => one.kill()) },
  SIGTERM: { weight: 2, happen: hurt((one) => one.drain()) },
  SIGSTOP: { weight: 3, happen: hurt((one, { random }) => one.freeze(between(random, 500, 8000))) },
  'PostgreSQL fast': { weight: 1, happen: restart('fast') },
  'PostgreSQL immediate': { weight: 2, happen: restart('immediate') },
  'connections cut': {
    weight: 3,
    happen: async ({ network, random }) => {
      network.cut();
      await sleep(between(random, 20, 3000));
      network.heal();
      return true;
    },
  },
  'slow network': {
    weight: 1,
    happen: async ({ network, random }) => {
      network.delay(between(random, 10, 60));
      await sleep(between(random, 500, 2500));
      network.delay(0);
      return true;
    },
  },
};

const happen = async (name: string, victims: Victims): Promise<boolean> =>
  (await FAULTS[name]?.happen(victims)) ?? false;

const ALL = Object.entries(FAULTS).flatMap(([name, { weight }]) => Array.from({ length: weight }, () => name));
const PAUSE_MS = { least: 500, most: 4000 };

/** Lets one thing after another go wrong, sometimes two at once, until `until`. Resolves when all of it is over. */
export async function rage(victims: Victims, until: number): Promise<Readonly<Record<string, number>>> {
  const { random } = victims;
  const counts: Record<string, number> = {};
  const going = new Map<string, Promise<unknown>>();
  while (performance.now() < until) {
    const name = ALL[Math.floor(random() * ALL.length)] ?? '';
    // PostgreSQL is one, and so is the network.
    const kind = name.split(' ')[0] ?? '';
    if (!going.has(kind)) {
      const fault = happen(name, victims).then((happened) => {
        if (happened) counts[name] = (counts[name] ?? 0) + 1;
        going.delete(kind);
      });
      going.set(kind, fault);
      if (random() < 0.7) await fault;
    }
    await sleep(between(random, PAUSE_MS.least, PAUSE_MS.most));
  }
  await Promise.all(going.values());
  return counts;
}
