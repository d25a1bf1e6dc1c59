/*
 * How runs are claimed, fenced, paused, decided and recorded, as a model that `spin` explores. One atomic block is one statement or
 * one transaction of the database; between two of them anything may happen. `docs/decisions/0013-model-of-the-protocol.md` says
 * what the model leaves out. With -DMISTAKE=n it has one mistake, which spin must find.
 */
#ifndef MISTAKE
#define MISTAKE 0
#endif

#define RUNS 2
#define WORKERS 2
#ifndef FAULTS
#define FAULTS 1
#endif

#define AT(w, r) ((w) * RUNS + (r))
/* The place of an execution that has written its intent. */
#define BODY 9

mtype = { QUEUED, PENDING, ENDED, NOTHING, WAITS, APPROVED, REPEAT, HAPPENED };

/* The database. */
byte segment[RUNS];          /* 0: up to the pause for an approval; 1: what follows a decision */
mtype status[RUNS];          /* of the segment */
byte owner[RUNS];            /* the token of the execution that may record; 0: none */
byte holder[RUNS];           /* the worker that claimed the segment */
byte recorded[RUNS];         /* steps of the segment */
byte events[RUNS];           /* entries of the log about steps */
byte intent[RUNS];           /* the execution that began the unsafe call; 0: none */
bool outcome[RUNS];          /* whether the call has one */
mtype approval[RUNS];
mtype unknown[RUNS];         /* the question about an effect that may have happened */
bool over[RUNS];

/* The world. */
byte effects[RUNS];
byte repeats[RUNS];          /* decisions that let a call of unknown effect run again */
byte approvals[RUNS];        /* decisions that the API accepted */
byte resumed[RUNS];          /* segments that approvals led to */

/* The memory of the processes: lost with them. */
bool fenced[WORKERS];        /* its epoch is over: another process raised it, and this one learns it later */
byte token[WORKERS * RUNS];  /* of its execution of a run; 0: it executes it not */
byte place[WORKERS * RUNS];
bool ready[WORKERS * RUNS];  /* a step is done, and to be recorded */
bool ahead[WORKERS * RUNS];  /* the step after it is done, too: a pure call, which went on while its step was recorded */

hidden byte fresh;
hidden byte told;
hidden byte other;
byte faults = 0;

#define OVER_ALL (over[0] && over[1])
#define OWNS(w, r) (token[AT(w, r)] != 0 && owner[r] == token[AT(w, r)])

inline forget(w, r) {
  token[AT(w, r)] = 0; place[AT(w, r)] = 0; ready[AT(w, r)] = false; ahead[AT(w, r)] = false
}

/* Steps of segment 0: 1 an answer of the model, 2 a pure call of it. Of segment 1: 1 the begin, 2 the unsafe call. */
inline begin(w, r) {
  fresh = 1;
  do
  :: fresh == owner[r] || fresh == intent[r] || fresh == token[AT(0, r)] || fresh == token[AT(1, r)] -> fresh++
  :: else -> break
  od;
  owner[r] = fresh; holder[r] = w; status[r] = PENDING;
  token[AT(w, r)] = fresh;
  place[AT(w, r)] = recorded[r];
  ready[AT(w, r)] = false; ahead[AT(w, r)] = false
}

/* One row of the statement that records steps: kept only for the owner; the same step once. Sets `told`. */
inline row(w, r) {
  if
  :: (OWNS(w, r) || MISTAKE == 1) ->
     /* Nothing is recorded of an execution that was taken over. */
     assert(status[r] == PENDING && holder[r] == w && OWNS(w, r));
     if
     :: (recorded[r] == place[AT(w, r)] || MISTAKE == 2) ->
        recorded[r] = place[AT(w, r)] + 1; events[r]++;
        /* The log has no step twice: the pure call of segment 0 makes one more. */
        assert(events[r] <= recorded[r] + 2 * segment[r])
     :: else -> skip
     fi;
     if
     :: (segment[r] == 1 && place[AT(w, r)] == 1) -> outcome[r] = true
     :: else -> skip
     fi;
     told = true
  :: else -> told = false
  fi
}

/* What the process hears. The answer may be lost: then it sends the statement again. */
inline hear(w, r) {
  if
  :: told -> if
     :: ready[AT(w, r)] = ahead[AT(w, r)]; ahead[AT(w, r)] = false; place[AT(w, r)]++
     :: faults < FAULTS -> faults++
     fi
  :: else -> forget(w, r)
  fi
}

/* The steps of both runs by one statement, each row by its own rules. */
inline together(w) {
  if
  :: MISTAKE == 4 ->                             /* a row that may not be recorded takes the others with it */
     if
     :: OWNS(w, 0) && OWNS(w, 1) -> row(w, 0); hear(w, 0); row(w, 1); hear(w, 1)
     :: else ->
        /* No run loses its execution for a row of another one. */
        assert(!OWNS(w, 0) && !OWNS(w, 1));
        forget(w, 0); forget(w, 1)
     fi
  :: MISTAKE == 5 ->                             /* one answer for all rows */
     row(w, 0); other = told; row(w, 1); told = told || other;
     assert(!told || (OWNS(w, 0) && OWNS(w, 1)));
     hear(w, 0); hear(w, 1)
  :: else -> row(w, 0); hear(w, 0); row(w, 1); hear(w, 1)
  fi
}

/* Puts what a worker holds back into the queue: what is left of its executions can record nothing. */
inline requeue(w, r) {
  if
  :: status[r] == PENDING && holder[r] == w ->
     status[r] = QUEUED;
     if :: MISTAKE != 11 -> owner[r] = 0 :: else -> skip fi
  :: else -> skip
  fi
}

/* The pause for an approval, in one transaction. */
inline pause(w, r) {
  if
  :: OWNS(w, r) -> assert(recorded[r] == 2); approval[r] = WAITS; status[r] = ENDED; owner[r] = 0
  :: else -> skip
  fi;
  forget(w, r)
}

/* The intent of the unsafe call, before its body. */
inline claim(w, r) {
  if
  :: fenced[w] && MISTAKE != 8 -> forget(w, r)
  :: else ->
     assert(!fenced[w]);                         /* a fenced worker begins no effect */
     if
     :: intent[r] == 0 ->
        if :: MISTAKE != 9 -> intent[r] = token[AT(w, r)] :: else -> skip fi;
        place[AT(w, r)] = BODY
     :: intent[r] != 0 && unknown[r] == REPEAT -> intent[r] = token[AT(w, r)]; unknown[r] = NOTHING; place[AT(w, r)] = BODY
     :: intent[r] != 0 && unknown[r] == NOTHING && MISTAKE == 10 -> place[AT(w, r)] = BODY
     :: intent[r] != 0 && unknown[r] == NOTHING && MISTAKE != 10 ->
        /* It may have happened: the run pauses, and a person is asked. */
        if :: OWNS(w, r) -> unknown[r] = WAITS; status[r] = ENDED; owner[r] = 0 :: else -> skip fi;
        forget(w, r)
     :: else -> forget(w, r)
     fi
  fi
}

#define RUNS_IT(w, r) (token[AT(w, r)] != 0 && !ready[AT(w, r)])

/* What a process may do about a run. */
#define CHOICES(w, r) \
  :: atomic { status[r] == QUEUED && token[AT(w, r)] == 0 && MISTAKE != 3 -> begin(w, r) } \
  :: status[r] == QUEUED && token[AT(w, r)] == 0 && MISTAKE == 3 -> atomic { begin(w, r) } \
  :: atomic { ready[AT(w, r)] -> row(w, r); hear(w, r) } \
  /* What is ready meanwhile leaves by one statement. */ \
  :: atomic { ready[AT(w, r)] && ahead[AT(w, r)] -> row(w, r); hear(w, r); \
       if :: ready[AT(w, r)] && place[AT(w, r)] == 1 -> row(w, r); hear(w, r) :: else -> skip fi } \
  :: atomic { RUNS_IT(w, r) && place[AT(w, r)] == 0 -> \
       ready[AT(w, r)] = true } \
  /* The pure call, after its step or ahead of it. */ \
  :: atomic { RUNS_IT(w, r) && place[AT(w, r)] == 1 && segment[r] == 0 -> ready[AT(w, r)] = true } \
  :: atomic { ready[AT(w, r)] && !ahead[AT(w, r)] && place[AT(w, r)] == 0 && segment[r] == 0 -> \
       if :: MISTAKE == 17 -> place[AT(w, r)] = 1 :: else -> ahead[AT(w, r)] = true fi } \
  :: atomic { ready[AT(w, r)] && ahead[AT(w, r)] && OWNS(w, r) && MISTAKE == 6 -> ready[AT(w, r)] = false; pause(w, r) } \
  :: atomic { RUNS_IT(w, r) && place[AT(w, r)] == 2 && segment[r] == 0 && MISTAKE != 7 -> pause(w, r) } \
  :: atomic { RUNS_IT(w, r) && place[AT(w, r)] == 2 && segment[r] == 0 && OWNS(w, r) && MISTAKE == 7 -> approval[r] = WAITS }; \
     atomic { if :: OWNS(w, r) -> status[r] = ENDED; owner[r] = 0 :: else -> skip fi; forget(w, r) } \
  :: atomic { RUNS_IT(w, r) && place[AT(w, r)] == 1 && segment[r] == 1 -> \
       if :: outcome[r] || unknown[r] == HAPPENED -> ready[AT(w, r)] = true :: else -> claim(w, r) fi } \
  :: atomic { RUNS_IT(w, r) && place[AT(w, r)] == BODY -> \
       effects[r]++; \
       assert(approval[r] == APPROVED); \
       assert(effects[r] <= 1 + repeats[r]); \
       place[AT(w, r)] = 1; ready[AT(w, r)] = true } \
  :: atomic { RUNS_IT(w, r) && place[AT(w, r)] == 2 && segment[r] == 1 -> \
       if :: OWNS(w, r) -> assert(recorded[r] == 2 && outcome[r]); over[r] = true; status[r] = ENDED; owner[r] = 0 \
          :: else -> skip fi; \
       forget(w, r) } \
  :: atomic { token[AT(w, r)] != 0 && !OWNS(w, r) && place[AT(w, r)] != BODY -> forget(w, r) }

proctype Worker(byte w) {
  do
  :: OVER_ALL -> break
  :: atomic { ready[AT(w, 0)] && ready[AT(w, 1)] -> together(w) }
  CHOICES(w, 0)
  CHOICES(w, 1)
  /* It puts back what it holds and does not execute. */
  :: atomic { status[0] == PENDING && holder[0] == w && token[AT(w, 0)] == 0 && !fenced[w] && MISTAKE != 15 -> requeue(w, 0) }
  :: atomic { status[1] == PENDING && holder[1] == w && token[AT(w, 1)] == 0 && !fenced[w] && MISTAKE != 15 -> requeue(w, 1) }
  /* A process that was taken over ends, and starts again. */
  :: atomic { fenced[w] -> forget(w, 0); forget(w, 1); fenced[w] = false; requeue(w, 0); requeue(w, 1) }
  od
}

/* A process dies and is started again, or stands still and is taken over, which it learns later. */
active proctype Faults() {
  byte w;
  do
  :: atomic { faults < FAULTS && !OVER_ALL -> faults++;
       if :: w = 0 :: w = 1 fi;
       if
       :: forget(w, 0); forget(w, 1); fenced[w] = false
       :: fenced[w] = true
       fi;
       requeue(w, 0); requeue(w, 1); w = 0 }
  :: OVER_ALL || faults >= FAULTS -> break
  od
}

/* The process that decides takes the segment in the same transaction. Its answer may be lost: then no one executes what it holds. */
inline take(w, r) {
  if
  :: fenced[w] && MISTAKE != 14 -> skip          /* it stays in the queue */
  :: else ->
     assert(!fenced[w]);                         /* a fenced worker takes nothing */
     begin(w, r);
     if
     :: skip
     :: faults < FAULTS -> faults++; forget(w, r)
     fi
  fi
}

/* The segment after a decision. */
inline resume(r) {
  if
  :: status[r] == ENDED && segment[r] == 0 ->
     segment[r] = 1; recorded[r] = 0; resumed[r]++; status[r] = QUEUED;
     if
     :: skip
     :: token[AT(0, r)] == 0 -> take(0, r)
     :: token[AT(1, r)] == 0 -> take(1, r)
     fi
  :: else -> skip                                /* the run is not paused: its worker would go on */
  fi
}

/* People decide, and may say it twice: a lost answer, two windows. */
proctype Person(byte r) {
  do
  :: over[r] -> break
  /* A segment that starts before the commit of its decision, which is rolled back. */
  :: atomic { approval[r] == WAITS && status[r] == ENDED && token[AT(0, r)] == 0 && MISTAKE == 16 && faults < FAULTS ->
       faults++; token[AT(0, r)] = 7; place[AT(0, r)] = BODY }
  :: atomic { (approval[r] == WAITS || MISTAKE == 12 && approval[r] == APPROVED) ->
       approvals[r]++; approval[r] = APPROVED;
       assert(approvals[r] <= 1);                /* a decision counts once */
       if :: MISTAKE != 13 -> resume(r) :: else -> skip fi };
     if
     :: MISTAKE != 13 -> skip
     :: MISTAKE == 13 -> atomic { resume(r) }    /* by a transaction of its own, */
     :: MISTAKE == 13 && faults < FAULTS -> atomic { faults++ }  /* which the process does not live to see */
     fi
  :: atomic { unknown[r] == WAITS ->
       recorded[r] = 1;
       if
       :: unknown[r] = REPEAT; repeats[r]++
       :: unknown[r] = HAPPENED
       fi;
       status[r] = QUEUED }
  od
}

init {
  byte n;
  atomic {
    for (n : 0 .. RUNS - 1) { status[n] = QUEUED; approval[n] = NOTHING; unknown[n] = NOTHING }
    for (n : 0 .. WORKERS - 1) { run Worker(n) }
    for (n : 0 .. RUNS - 1) { run Person(n) }
  }
  /* Whatever happened, in the end all runs are over: where they are not, nothing can go on, and spin says so. */
  OVER_ALL;
  assert(resumed[0] == 1 && resumed[1] == 1)
}
