import { expect, it } from 'vitest';
import { goSuite } from '../../steps/verification/node-runner.js';

/** Which tests in Go count: those that Go itself takes for tests of a suite. */

const places = { runner: '/runner', tests: '/tests', workdir: '/work' };

it('counts tests by the names that Go allows', () => {
  const source =
    'package größe\n\nfunc TestÜber(t *testing.T) {}\nfunc Test(t *testing.T) {}\nfunc Test_٣x (t *testing.T) {}\nfunc TestMain(m *testing.M) {}\n';
  const { names, packages, files } = goSuite(
    { 'a/a_test.go': source, 'a/help_test.go': source },
    ['a/a_test.go'],
    places,
  );
  expect(names).toEqual(['TestÜber', 'Test', 'Test_٣x']);
  expect(packages).toEqual(['a']);
  expect(files['main0.go']).toMatch(/^package größe\n/);
});
