/** Tests that take long and seldom change their mind: HOLDFAST_TEST_SLOW=1 runs them, as CI does. */
export const SLOW = process.env['HOLDFAST_TEST_SLOW'] === '1';
