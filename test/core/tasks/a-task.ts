import type { TaskInput } from '../../../src/core/tasks/task-definition.js';

/** A task of which everything that may be left out is. */
export const aTask = (more: Partial<TaskInput> = {}): TaskInput => ({
  name: 'add',
  version: '1.0.0',
  instruction: 'Write add.py.',
  category: 'algorithms',
  difficulty: 'easy',
  environment: { image: 'python:3.13-slim' },
  verification: { tests: [{ name: 'adds', command: 'python3 /tmp/tests/add.py' }] },
  ...more,
});
