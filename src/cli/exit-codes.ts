/** Exit codes of commands, with what they mean. docs/cli.md has the same table. */
export const EXIT_CODES = {
  done: { code: 0, meaning: 'The command did what it was asked. A run that waits for a person is no failure.' },
  failed: { code: 1, meaning: 'An error, which stderr names; or what was waited for or checked has failed.' },
  misused: { code: 2, meaning: 'The command line itself is wrong.' },
  attention: { code: 3, meaning: '`replay`: the run cannot be replayed. `preflight`: a run needs attention.' },
  serverAway: {
    code: 4,
    meaning: 'The server stopped answering while the command waited, and did not return in time.',
  },
} as const;
