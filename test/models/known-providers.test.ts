import { describe } from 'vitest';
import { MODEL_PROVIDERS } from '../../src/core/models/model-provider-table.js';
import { openaiCompatible } from '../../src/engine/agents/model-providers.js';
import { SLOW } from '../harness/slow.js';
import { CHAT } from './servers/chat-wire.js';
import { RESPONSES } from './servers/responses-wire.js';
import { SECRET, wireContract } from './wire.contract.js';

/** Every provider of the table, with its quirks, against a server that speaks its API. */

for (const [prefix, { title, api, quirks }] of Object.entries(MODEL_PROVIDERS)) {
  const suite = () =>
    wireContract({
      name: title,
      wire: api === 'responses' ? RESPONSES : CHAT,
      open: (url) => openaiCompatible({ like: prefix, baseURL: `${url}/v1`, api, key: SECRET }).getModel('test'),
      formInWords: quirks.structuredOutput !== undefined && quirks.structuredOutput !== 'json_schema',
    });
  if (SLOW) suite();
  else describe.skip(`${title} (slow: HOLDFAST_TEST_SLOW=1 runs it)`, suite);
}
