import { expect, it } from 'vitest';
import { describeEachDatabaseSlowly } from '../harness/database.js';
import { signatureOf as signatureOfAnthropic, strictAnthropic } from '../models/servers/strict-anthropic.js';
import { signatureOf as signatureOfGoogle, strictGoogle } from '../models/servers/strict-google.js';
import type { StrictTurn } from '../models/servers/strict-server.js';
import { wireServer } from '../models/servers/wire-server.js';
import { twoLives } from './two-lives.js';

const FINAL = 'Oslo 12, Rome 12 and Paris 12 degrees.';

const calls = (...cities: readonly string[]): StrictTurn => ({
  said: { calls: cities.map((city) => ({ id: `toolu_${city}`, name: 'weather', args: { city } })) },
});
const TURNS: readonly StrictTurn[] = [calls('Oslo', 'Rome'), calls('Paris'), { said: { text: FINAL } }];

const APIS = [
  { like: 'anthropic-native', path: '/v1', server: strictAnthropic, signatureOf: signatureOfAnthropic },
  { like: 'google-native', path: '/v1beta', server: strictGoogle, signatureOf: signatureOfGoogle },
] as const;
const CASES = APIS.flatMap((api) => ['whole', 'streamed'].map((mode) => ({ ...api, mode })));

describeEachDatabaseSlowly('a process that dies between a thought that is signed and its call', (kind) => {
  it.each(CASES)(
    '$like, $mode: what goes back is what was recorded, byte for byte, and no answer is paid for twice',
    { timeout: 240_000 },
    async ({ like, path, server: serverOf, signatureOf, mode }) => {
      const live = async (place: string | null) => {
        // It refuses a thought that is not exactly as it was given.
        await using server = await wireServer(serverOf(TURNS));
        const { died, ended } = await twoLives({
          ...{ kind, program: 'native-child.js' },
          kill: place === null ? undefined : { when: 'place', place },
          env: { NATIVE_LIKE: like, NATIVE_URL: `${server.url}${path}`, NATIVE_STREAM: mode === 'streamed' ? '1' : '' },
        });
        expect(died, ended.stderr).toBe(place !== null);
        const [run] = ended.runs;
        expect(run, ended.stderr).toMatchObject({ status: 'completed', output: FINAL, ok: true, complete: true });
        expect(run).toMatchObject({ turns: 3 });
        return server.received.map(({ bytes }) => bytes.toString('utf8'));
      };
      const undisturbed = await live(null);
      expect(undisturbed).toHaveLength(3);
      expect(undisturbed[2]).toContain(JSON.stringify(signatureOf(0)));
      expect(undisturbed[2]).toContain(JSON.stringify(signatureOf(1)));
      for (const place of ['weather in Oslo', 'weather in Paris']) expect(await live(place)).toEqual(undisturbed);
    },
  );
});
