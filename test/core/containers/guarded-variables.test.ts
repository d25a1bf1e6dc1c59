import { expect, it } from 'vitest';
import { environmentSpec } from '../../../src/core/containers/environment-spec.js';
import { guardedVariables, placesOfAgent } from '../../../src/core/containers/guarded-variables.js';

const spec = environmentSpec.parse({
  image: 'tools:1',
  mounts: [
    { source: '/srv/books', target: '/books' },
    { source: '/srv/out', target: '/out', readOnly: false },
  ],
});

it('leaves an image alone that has nothing to guard', () => {
  const plain = {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    LANG: 'C.UTF-8',
    PYTHON_VERSION: '3.13.0',
    PYTHONUNBUFFERED: '1',
  };
  expect(guardedVariables(plain, spec)).toEqual({});
});

it('empties what programs load code by, and keeps what was given', () => {
  expect(guardedVariables({ PYTHONPATH: '/work', GIT_DIR: '/work/.git', 'BASH_FUNC_sh%%': '() { :; }' }, spec)).toEqual(
    {
      ...{ PYTHONPATH: '', GIT_DIR: '', 'BASH_FUNC_sh%%': '' },
      ...{ HOLDFAST_GIVEN_PYTHONPATH: '/work', HOLDFAST_GIVEN_GIT_DIR: '/work/.git' },
      HOLDFAST_GUARDED: 'PYTHONPATH GIT_DIR',
    },
  );
});

it('finds its own programs in no place of the agent, and in those of the system first', () => {
  const { PATH } = guardedVariables({ PATH: '/work/bin:bin::/tmp:/out/bin:/opt/bin:/workshop:/books/bin:/bin' }, spec);
  expect(PATH).toBe('/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin:/workshop:/books/bin');
  expect(placesOfAgent(spec)).toEqual(['/work', '/tmp', '/dev/shm', '/out']);
});
