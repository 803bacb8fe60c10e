"""The mutations: one promise of the design each, broken in the smallest way, and the checker that has to see it.

Exact text in a file and what stands there instead; a test holds that every text is still there, once. `faults` narrows
the weather where a promise matters in some of it only, so that a few half days show it. Names of checkers are those of
docs/invariants.md.
"""

from __future__ import annotations

from benchmarks.mutation import Edit, Mutation

GUARD = "reconciler/guard.py"
BLAST = "reconciler/blast_radius.py"
ACTING = "reconciler/acting.py"
BRAKE = "reconciler/brake.py"
LEADERSHIP = "reconciler/leadership.py"
LOOP = "reconciler/loop.py"
LOGBOOK = "reconciler/logbook.py"
CENSUS = "reconciler/census.py"
DOUBTS = "reconciler/doubts.py"
DIFF = "reconciler/diff.py"
SIGHTING = "reconciler/sighting.py"
SPREAD = "correlation_groups/spread.py"
DESIRED = "reconciler/desired.py"
CYCLE = "reconciler/cycle.py"
OWED = "reconciler/owed.py"

MUTATIONS = (
    Mutation(
        "bound-ignored", "at most 15 % in a pool, 30 % in a group", "check_bounds.Placements",
        (Edit(SPREAD, "    return max(quantum, -(-share_permille * desired // 1000))",
              "    return max(quantum, desired)"),),
    ),
    Mutation(
        "bound-too-wide", "bounds are rounded up once, and no further", "check_bounds.Placements",
        (Edit(SPREAD, "    return max(quantum, -(-share_permille * desired // 1000))",
              "    return max(quantum, -(-share_permille * desired // 1000) + quantum)"),),
    ),
    Mutation(
        "pools-rule-dropped", "at least eight pools are used", "check_bounds.Placements",
        (Edit(SPREAD, "    return max(1, min(wanted, desired // largest_quantum))", "    return 1"),),
    ),
    Mutation(
        "gang-scattered", "a gang stays within one aggregate or hall", "check_gangs.Together",
        (Edit(DESIRED, "        gang=contract.gang_size,\n", "        gang=1,\n"),),
        faults="none", days=0.08, seeds=2, region="cadiz",
    ),
    Mutation(
        "unknown-pool-forgotten", "what stands in an unknown pool counts in every bound", "check_bounds.Placements",
        (Edit("reconciler/standing.py",
              "            unknown[instance.workload] += instance.units\n            continue\n",
              "            continue\n"),
         Edit(SPREAD, "    return max(quantum, -(-share_permille * desired // 1000))",
              "    return max(quantum, -(-(share_permille + 40) * desired // 1000))")),
        faults="migration,listing_garbled,reclaim,hall_wave", needs="listing_garbled",
    ),
    Mutation(
        "foreign-deleted", "nothing without our mark is ever touched", "check_ours.Touched",
        (Edit(SIGHTING,
              "        if (mark.estate != estate or mark.region != region or mark.partition != partition) or (\n"
              "            server.project not in projects\n        ):", "        if server.project not in projects:"),
         Edit(CYCLE, "came_with=seen.came_with, standing=lone, now=seen.now", "came_with=seen.came_with, now=seen.now"),
         Edit("pools/ownership.py", "    if row.mark.epoch > expected.epoch:", "    if not row.mark.epoch:"),
         Edit("pools/ownership.py",
              "    if row.mark.estate != estate or row.mark.key != expected.key:", "    if row is None:")),
        faults="strangers,reclaim", needs="strangers",
    ),
    Mutation(
        "grows-on-stale-listing", "an old listing stops everything", "check_blind.Acts",
        (Edit(GUARD, "    if _too_old(eyes.listed_at, eyes, limits):",
              "    if _age_s(eyes.listed_at, eyes) > 10**9:"),),
        faults="listing_stale,api_down,reclaim,hall_wave",
    ),
    Mutation(
        "grows-on-part-of-a-listing", "a project that is not proven complete stands still", "check_blind.Acts",
        (Edit(GUARD,
              "    if step.project not in eyes.complete_projects:\n"
              "        return Refusal(step, Cause.LISTING_INCOMPLETE",
              "    if not step.project:\n        return Refusal(step, Cause.LISTING_INCOMPLETE"),),
        faults="listing_partial,reclaim,hall_wave",
    ),
    Mutation(
        "grows-unverified", "growth and release wait while Git is not verified", "check_blind.Acts",
        (Edit(GUARD, "    if not eyes.verified:\n        return Refusal(step, Cause.DESIRED_STATE_UNVERIFIED",
              "    if eyes.problem == step.instance:\n        return Refusal(step, Cause.DESIRED_STATE_UNVERIFIED"),),
        faults="git_unreachable,git_rewritten,git_unsigned,git_older,reclaim",
    ),
    Mutation(
        "grows-scheduler-silent", "growth and release wait while a scheduler is silent", "check_blind.Acts",
        (Edit(GUARD,
              "    if step.workload in eyes.silent_workloads:\n        return Refusal(step, Cause.SCHEDULER_SILENT",
              "    if not step.workload:\n        return Refusal(step, Cause.SCHEDULER_SILENT"),),
        faults="scheduler_silent,reclaim,hall_wave,boots_fail",
    ),
    Mutation(
        "spool-unlimited", "a full spool stops growth", "check_blind.Acts",
        (Edit(GUARD, "    if eyes.pending < limits.spool_limit:", "    if eyes.pending >= 0:"),),
        faults="spool_stuck,reclaim,hall_wave", needs="spool_stuck,reclaim",
    ),
    Mutation(
        "clock-trusted", "a clock that jumped stops everything", "check_blind.Acts",
        (Edit(GUARD, "    if eyes.clock:\n        found.append((Cause.CLOCK_JUMPED, eyes.clock))\n", ""),
         Edit(LEADERSHIP, "leap_ms = 0 if self._sole else", "leap_ms = 0 if self._holder else"),
         Edit(BRAKE, "        if leap_ms:\n            return Cause.CLOCK_JUMPED",
              "        if not self:\n            return Cause.CLOCK_JUMPED")),
        faults="clock_forward,clock_back,reclaim", needs="clock_forward",
    ),
    Mutation(
        "unjournalled", "what cannot be written down is not begun", "check_blind.Acts",
        (Edit(LOGBOOK, "        except EbbtideError:\n            return False\n        return True\n\n    def _record",
              "        except EbbtideError:\n            return True\n        return True\n\n    def _record"),
         Edit(LOGBOOK, "(events if keep is None else keep)\n                return False",
              "(events if keep is None else keep)\n                return True")),
        faults="disk_full,reclaim,hall_wave", needs="disk_full",
    ),
    Mutation(
        "liar-believed", "an improbable share gone at once is not believed", "check_blind.Acts",
        (Edit(DOUBTS,
              "    return missing > FEW and missing * 100 > alive * sight.improbable_percent", "    return False"),
         Edit(DOUBTS, "BELIEVED_AFTER_MS = 300_000", "BELIEVED_AFTER_MS = 0"),
         Edit(DOUBTS, "BELIEVED_LISTINGS = 3", "BELIEVED_LISTINGS = 1"),
         Edit(DOUBTS, "    return not view.drained and not (instance.released and sight.now >= instance.ends_at)",
              "    return False"),
         Edit(GUARD, "    if eyes.unexplained * 100 > eyes.alive * limits.improbable_share and eyes.unexplained > FEW:",
              "    if eyes.unexplained > 10**9:")),
        faults="listing_half,reclaim", needs="listing_half",
    ),
    Mutation(
        "release-limit-off", "at most so many releases in a window", "check_blast.Radius",
        (Edit(BLAST, "min(limits.release_count, share), shown)", "10**6, shown)"),),
        faults="commit_maxima,commit_removal,hall_wave",
    ),
    Mutation(
        "acquire-limit-off", "at most so many acquisitions in a window", "check_blast.Radius",
        (Edit(BLAST, "(*state.acquired, grown), limits.acquire_count,", "(*state.acquired, grown), 10**6,"),
         Edit(BLAST, "(*state.replaced, grown), limits.replace_count,", "(*state.replaced, grown), 10**6,")),
    ),
    Mutation(
        "ramp-removed", "after an outage the first cycles ramp", "check_blast.Ramp",
        (Edit("reconciler/pacing.py", "    return 1.0 if cycles_since_sight >= RAMP_CYCLES - 1 else",
              "    return 1.0 if cycles_since_sight >= 0 else"),),
    ),
    Mutation(
        "ramp-forgets", "blindness begins the ramp anew", "check_blast.Ramp",
        (Edit(BLAST, "    cycles = min(RAMP_CYCLES, state.cycles_since_blind + 1) if sees else 0",
              "    cycles = min(RAMP_CYCLES, state.cycles_since_blind + 1) if sees else state.cycles_since_blind"),),
        faults="api_down,listing_stale,signals_silent,reclaim,hall_wave",
    ),
    Mutation(
        "stop-once", "the stop is heard before each action", "check_stop.Acts",
        (Edit(BRAKE, "        stopped = self.stopped()\n        return (Cause.STOPPED, stopped) if stopped else None",
              "        return None"),),
        faults="stop_midway,reclaim,hall_wave,host_loss", needs="stop_midway",
    ),
    Mutation(
        "stop-ignored", "a stopped region does nothing", "check_stop.Acts",
        (Edit(BRAKE, "            return answered(self._stop.reason)", '            return ""'),),
        faults="people_stop,reclaim,hall_wave", needs="people_stop",
    ),
    Mutation(
        "fence-dropped", "a deposed leader stops in the middle of its list", "check_fencing.Acts",
        (Edit(BRAKE, "        if not self._leadership.holds():", "        if not self._leadership.epoch:"),),
        faults="pause_midway,reclaim,hall_wave,host_loss", needs="pause_midway",
    ),
    Mutation(
        "epoch-reused", "every term has an epoch of its own", "check_fencing.Epochs",
        (Edit(LEADERSHIP, "        epoch = max(watch.lease.epoch, self._seen, self.epoch) + 1",
              "        epoch = max(watch.lease.epoch, self._seen, self.epoch, 1)"),),
        faults="crash,pause,store_cut",
    ),
    Mutation(
        "no-wait-for-term", "a new leader waits for the term and one call's limit", "check_fencing.Waits",
        (Edit("reconciler/lease.py",
              "    return watch.since if watch.given_up else watch.since + max(terms.term, watch.lease.term)"
              " + terms.call",
              "    return watch.since"),),
        faults="crash,pause,store_cut",
    ),
    Mutation(
        "drain-skipped", "a release is always a drain first", "check_drains.BeforeDelete",
        (Edit(ACTING,
              "            instance = self._ask(instance, step.told)\n", "            pass\n"),),
    ),
    Mutation(
        "early-delete", "what drains is not deleted before its end", "check_drains.BeforeDelete",
        (Edit(DIFF, "    return inputs.now >= ends_at\n", "    return True\n"),),
    ),
    Mutation(
        "notice-deaf", "a notice is answered by a replacement at once", "check_told.Notices",
        (Edit("reconciler/hearing.py", "    known = standing.get(key)\n",
              "    known = standing.get(key) or (0 if notice.reclaim else None)\n"),),
        faults="reclaim,hall_wave",
    ),
    Mutation(
        "replace-forgotten", "lost capacity is replaced", "check_liveness.Reached",
        (Edit(DIFF, "    adds.sort(key=lambda step: _urgency(step, inputs.ranks))\n",
              "    adds = [s for s in adds if s.kind is not StepKind.REPLACE]\n"
              "    adds.sort(key=lambda step: _urgency(step, inputs.ranks))\n"),),
        faults="reclaim,hall_wave,host_loss,silent_loss",
    ),
    Mutation(
        "key-renewed", "a create without an answer is asked again under its own key", "check_debts.PaidOnce",
        (Edit(ACTING,
              "            self.tokens.hold(step.project, error)\n"
              "            self._stands(step, asked)\n            self._done.again += 1",
              "            self.tokens.hold(step.project, error)\n"
              "            self._failed(step, Cause.CREATE_FAILED, str(error))\n            self._done.again += 1"),),
        faults="answer_lost,api_late,reclaim,hall_wave", needs="reclaim@api_late",
    ),
    Mutation(
        "marks-forgotten", "what our mark stands on is known again after everything was lost", "check_owners.Forgotten",
        (Edit(SIGHTING, "            rows.restored.append(found)", "            del rows.known[name]"),),
        faults="site_lost,reclaim", needs="site_lost",
    ),
    Mutation(
        "victim-too-many", "what is given back is no more than is left over", "check_debts.ReleasedOnce",
        (Edit(DIFF, "[: max(0, filled - moving - count)]", "[: max(0, filled - moving - count + 1)]"),),
        faults="commit_maxima,reclaim",
    ),
    Mutation(
        "event-lost", "no event is lost", "check_told.Losses",
        (Edit(LOGBOOK, "                self.unrecorded = list(events if keep is None else keep)\n", ""),
         Edit(LOGBOOK, "        self.unrecorded = told\n        position", "        position")),
        faults="disk_full,host_loss,silent_loss,reclaim", needs="host_loss@disk_full",
    ),
    Mutation(
        "wallet-reset", "the authority's limit holds over a day", "check_money.Authority",
        (Edit("reconciler/arbiter.py", "    if money and day > wallet.day:\n", "    if money:\n"),),
        faults="drought,hall_wave,two_halls,reclaim", needs="drought",
    ),
    Mutation(
        "bill-open", "each bill has the end that the provider told", "check_money.Invoice",
        (Edit("reconciler/billing.py", "(ended(instance, at=happened.at, scribe=scribe),)", "()"),),
        faults="host_loss,silent_loss,power_wave",
    ),
    Mutation(
        "reclaim-ignored", "nothing is acquired under an open reclaim", "check_reclaims.Acquired",
        (Edit(GUARD, "    if step.pool in eyes.closed_pools:\n        return Refusal(step, Cause.RECLAIM_OPEN",
              "    if not step.pool:\n        return Refusal(step, Cause.RECLAIM_OPEN"),
         Edit("reconciler/desired.py", "    closed = closed_pools(part, facts.now, facts.reclaims)",
              "    closed = closed_pools(part, facts.now, ())"),
         Edit("reconciler/desired.py", "        capacity = facts.room.get(domain, Resources()).plus(held)",
              "        capacity = Resources(10**6, 10**9, 10**6, 10**6)")),
        faults="reclaim,hall_wave,two_halls",
    ),
    Mutation(
        "removal-unapproved", "a large removal waits for a person", "check_removals.Waits",
        (Edit("reconciler/removals.py", "    if sum(taken.values()) * 100 <= total * share:", "    if total >= 0:"),),
        faults="commit_maxima,commit_removal", needs="commit_removal",
    ),
    Mutation(
        "removal-forgotten", "the removal that waits outlives a leader and its disk", "check_removals.Waits",
        (Edit(LOGBOOK, "            if not owned.baseline.commit:", "            if owned is None:"),),
        faults="commit_maxima,crash,empty_disk", needs="empty_disk@commit_maxima",
    ),
    Mutation(
        "older-accepted", "what was in force is never followed by an older commit", "check_removals.NeverBack",
        (Edit(LOOP, "        self.desired = ports.desired.look()\n",
              "        self.desired = self._first = ports.desired.look()\n"),
         Edit(LOOP, "        desired = self.ports.desired.look()\n",
              "        desired = self.ports.desired.look()\n"
              "        if not desired.trusted:\n"
              "            desired = replace(self._first, trusted=False, problem=desired.problem)\n")),
        faults="git_unreachable,git_older,git_unsigned,commit_maxima,commit_floors,reclaim,host_loss",
        needs="git_older,commit_maxima,reclaim",
    ),
    Mutation(
        "breaker-latches", "what stopped goes on when it is over", "check_liveness.Cleared",
        (Edit("reconciler/clocks.py", "    if before.doubted and not came:", "    if before.doubted:"),),
        faults="clock_forward,clock_back,reclaim", needs="clock_forward,clock_back",
    ),
    Mutation(
        "drain-never-ends", "what has drained is given back", "check_liveness.Drained",
        (Edit(DIFF, '            if drained in ("verified", "overrun"):', '            if drained == "never":'),
         Edit(DIFF, "            elif _over(instance, inputs, unheard=unheard):\n",
              "            elif _over(instance, inputs, unheard=unheard) and not drained:\n")),
    ),
    Mutation(
        "cause-broken", "every event has a cause that exists", "check_causes.Whole",
        (Edit(DIFF, "        cause, cause_event = debt.cause, debt.cause_event\n",
              '        cause, cause_event = debt.cause, "x" + debt.cause_event\n'),),
        faults="reclaim,hall_wave",
    ),
    Mutation(
        "floor-paid-as-lent", "committed capacity is for floors and fallback", "check_floors.Committed",
        (Edit(DESIRED, "in ((floor, Paid.FLOOR), (", "in ((floor, Paid.RECLAIMABLE), ("),),
    ),
    Mutation(
        "floor-not-restored", "a floor that was lost comes back first", "check_floors.Restored",
        (Edit(DIFF, "    adds.sort(key=lambda step: _urgency(step, inputs.ranks))\n",
              "    adds = [s for s in adds if s.kind is not StepKind.REPLACE or s.paid is not Paid.FLOOR]\n"
              "    adds.sort(key=lambda step: _urgency(step, inputs.ranks))\n"),),
        faults="host_loss,silent_loss,boots_fail", needs="host_loss,silent_loss",
    ),
    Mutation(
        "clock-doubt-ignored", "a clock that the provider's answers contradict stops everything", "check_blind.Acts",
        (Edit(CYCLE, "    clock = clock_doubt(part, memory, seen)\n", '    clock = ""\n'),),
        faults="clock_forward,clock_back,reclaim", needs="clock_back",
    ),
    Mutation(
        "stop-read-once", "the stop switch is read again and again, by every process", "check_stop.Acts",
        (Edit(BRAKE, "            return answered(self._stop.reason)",
              '            return self.__dict__.setdefault("_read", answered(self._stop.reason))'),),
        faults="people_stop,reclaim,hall_wave", needs="people_stop",
    ),
    Mutation(
        "outdone-ignored", "a mark of a later term ends ours", "check_fencing.Epochs",
        (Edit(LOOP, "        return above is not None", "        return False"),
         Edit(LOOP, "            self.leadership.raise_above(above.epoch, at=above.at)", "            pass")),
        faults="site_lost,reclaim,hall_wave", needs="site_lost",
    ),
    Mutation(
        "others-acts-ignored", "a memory that others have acted beyond is not gone on with", "check_told.LetGo",
        (Edit(LOGBOOK, "owned = Memory(wallet=memory.wallet) if beyond else at_term(memory, self._ports.clock())",
              "owned = at_term(memory, self._ports.clock())"),),
        faults="crash,pause,store_cut,control_down,reclaim,commit_maxima", needs="crash,pause",
    ),
    Mutation(
        "paid-unwritten", "what others paid is not paid again", "check_debts.PaidOnce",
        (Edit(OWED, "        debts = tuple(debt for debt in memory.fleet.debts if debt.instance not in paid)",
              "        debts = memory.fleet.debts"),),
        faults="crash,empty_disk,reclaim,hall_wave,two_halls", needs="empty_disk,reclaim",
    ),
    Mutation(
        "drain-uncaused", "a drain begins for a notice or for an agreed return", "check_drains.Outcomes",
        (Edit(ACTING, "cause_event=told))", 'cause_event="x" + told))'),),
        faults="commit_maxima",
    ),
    Mutation(
        "withdrawn-for-good", "every notice that a node hears begins a drain at once", "check_drains.Windows",
        (Edit("agent/deadline.py",
              "    if any(key == notice.key and notice.issued_at <= issued for key, issued in notices.withdrawn):",
              "    if notices.withdrawn:"),),
        faults="withdrawn,reclaim,hall_wave", needs="withdrawn,reclaim",
    ),
    Mutation(
        "intent-unwritten", "what is about to be done is written down before", "check_told.Requests",
        (Edit(LOOP, "            announced=announced(going, memory.fleet, self._scribe()),",
              "            announced=announced((), memory.fleet, self._scribe()),"),),
        faults="none", seeds=1,
    ),
    Mutation(
        "told-twice", "an id says one thing", "check_told.Versions",
        (Edit("reconciler/claims.py", '            f"{name}/{scribe.now}",', "            name,"),),
        faults="none", seeds=1,
    ),
    Mutation(
        "key-reused", "a key serves one instance", "check_owners.Mixed",
        (Edit(CYCLE, "sequence=counted.fleet.sequence + len(found.steps)", "sequence=counted.fleet.sequence"),),
        faults="reclaim,hall_wave",
    ),
    Mutation(
        "twins-both-deleted", "of two servers under one key one stays", "check_owners.Twins",
        (Edit(SIGHTING, "        twins.append(twin)\n", "        twins += [twin, known_rows[name]]\n"),
         Edit(GUARD, 'stays and step.server not in ("", kept.server):', "stays and step.server:"),
         Edit(ACTING, '            if not instance.supply or instance.server in ("", step.server):',
              "            if not instance.supply:")),
        faults="create_doubled,reclaim,hall_wave", needs="reclaim@create_doubled",
    ),
    Mutation(
        "uncovered-trusted", "strict work moves off what no notice reaches", "check_covered.Strict",
        (Edit(DESIRED, "        uncovered = ready and not instance.covered and workload in part.strict",
              "        uncovered = False"),),
        faults="agent_dead", needs="agent_dead",
    ),
    Mutation(
        "reserve-after", "money is reserved in the store before it is spent", "check_money.Covered",
        (Edit(LOOP, "        decision, unpaid = self.reservations.settle(decision, seen, self.memory)",
              "        unpaid: list[Step] = []"),),
        faults="hall_wave,two_halls,power_wave,reclaim,host_loss,silent_loss", days=1.0, seeds=20,
    ),
    Mutation(
        "authority-outlived", "whose authority has run out spends nothing", "check_authority.Valid",
        (Edit("reconciler/standing.py",
              "        if entry.spend_authority_per_day is not None and not _expired(entry, now)\n",
              "        if entry.spend_authority_per_day is not None\n"),),
        faults="hall_wave,two_halls,power_wave,reclaim,host_loss,silent_loss", days=1.5, seeds=12,
    ),
    Mutation(
        "paid-misnamed", "an hour is billed under the payment that it is used under", "check_money.Usage",
        (Edit("reconciler/billing.py", '"paid": instance.paid.value}', '"paid": "reclaimable"}'),),
        faults="none", seeds=1,
    ),
    Mutation(
        "twin-kept", "a second server under one key is found and taken away", "check_owners.Twins",
        (Edit(SIGHTING, "        twins.append(twin)\n", ""),),
        faults="create_doubled,reclaim,hall_wave", needs="reclaim@create_doubled",
    ),
)  # fmt: skip
