import type { Model, ModelRequest } from '@openai/agents';
import type { RouterConfig } from '../../src/core/routing/router-config.js';
import { ModelCallError } from '../../src/models/failures/model-call-error.js';
import { functionModel } from '../../src/models/providers/function-model.js';
import { FINAL, FORM, HELLO, modelContract, type Scenario } from './model.contract.js';
import { callItem, textItem } from './requests.js';
import { Routed } from './routing/routed.js';
import { wireContract } from './wire.contract.js';
import { WIRED } from './wired-models.js';

for (const wired of WIRED) wireContract(wired);

const OSLO = { city: 'Oslo' };

const hasResult = ({ input }: ModelRequest) =>
  Array.isArray(input) && input.some((item) => item.type === 'function_call_result');

const SCRIPTS: Record<Scenario, Model> = {
  text: functionModel('test', () => [textItem(HELLO)]),
  calls: functionModel('test', () => [callItem('weather', OSLO), callItem('weather', { city: 'Rome' })]),
  agent: functionModel('test', (request) => (hasResult(request) ? [textItem(FINAL)] : [callItem('weather', OSLO)])),
  form: functionModel('test', () => [textItem(JSON.stringify(FORM))]),
  slow: functionModel('test', () => [textItem(HELLO)], { delayMs: 60_000 }),
};

modelContract({
  name: 'functionModel',
  open: async (scenario) => ({ model: SCRIPTS[scenario], [Symbol.asyncDispose]: async () => undefined }),
});

/** Only the second candidate answers. */
modelContract({
  name: 'a router',
  open: async (scenario) => {
    const ill = functionModel('ill', () => {
      throw new ModelCallError('model_failed', 'ill', { retryable: true, statusCode: 503 });
    });
    const config: RouterConfig = { strategy: 'capability_based', candidates: ['ill', 'well'] };
    const routed = new Routed({ r: config }, { ill, well: SCRIPTS[scenario] });
    return { model: await routed.attempt('r'), [Symbol.asyncDispose]: async () => undefined };
  },
});
