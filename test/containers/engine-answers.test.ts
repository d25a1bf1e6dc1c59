import { expect, it } from 'vitest';
import {
  isAboutDisk,
  isAboutOwner,
  isAboutProfile,
  isImageUnknown,
  isNameTaken,
  isOvertaken,
  isVolumeMade,
  statusOf,
} from '../../src/containers/docker/engine-answers.js';
import { EngineRefusal } from '../../src/containers/docker/engine-connection.js';

/** Answers as Docker 20.10 and Podman 4.3 gave them. On a real Podman: podman.test.ts. */

const questions = { isNameTaken, isOvertaken, isVolumeMade, isImageUnknown, isAboutProfile, isAboutDisk, isAboutOwner };
const meaningOf = (status: number, message: string): readonly string[] =>
  Object.entries(questions)
    .filter(([, asks]) => asks(new EngineRefusal(status, message)))
    .map(([name]) => name);

it('knows what both engines mean', () => {
  const answers: readonly (readonly [number, string, ...string[]])[] = [
    [409, 'Conflict. The container name "/c" is already in use by container "9ce7".', 'isNameTaken', 'isOvertaken'],
    [500, 'container create: the container name "c" is already in use by 9ce7.', 'isNameTaken', 'isOvertaken'],
    [304, 'container already started', 'isOvertaken'],
    [500, 'container 70b3 must be in Created or Stopped state to be started: container state improper', 'isOvertaken'],
    [500, 'adding volume to state: name v is in use: volume already exists', 'isVolumeMade'],
    [404, 'No such image: none:1', 'isImageUnknown'],
    [404, 'no such image: docker.io/library/none:1: image not known', 'isImageUnknown'],
    [500, "--storage-opt is supported only for overlay over xfs with 'pquota' mount option", 'isAboutDisk'],
    [
      500,
      'container create: opening seccomp profile failed: open {"names":["quotactl"]}: no such file',
      'isAboutProfile',
    ],
    [400, 'Decoding seccomp profile failed: invalid character'],
    [500, 'container create: unknown mount option "uid=1000": invalid mount option', 'isAboutOwner'],
    [500, 'runc create failed: operation not permitted'],
  ];
  for (const [status, message, ...meaning] of answers) expect(meaningOf(status, message), message).toEqual(meaning);
  expect(Object.values(questions).some((asks) => asks(new Error('volume already exists')))).toBe(false);
});

it('knows the states that Docker does not have', () => {
  const states = ['initialized', 'stopped', 'running', 'exited'].map((Status) => statusOf({ Status }));
  expect(states).toEqual(['created', 'exited', 'running', 'exited']);
});
