import { describe } from 'vitest';
import { SLOW } from '../harness/slow.js';
import { slowWireContract } from './wire.contract.js';
import { WIRED } from './wired-models.js';

for (const wired of WIRED) {
  if (SLOW) slowWireContract(wired);
  else describe.skip(`${wired.name} (slow: HOLDFAST_TEST_SLOW=1 runs it)`, () => slowWireContract(wired));
}
