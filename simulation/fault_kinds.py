"""Every kind of thing that can go wrong in a simulated region, as a table: how often, how long, where and how much.

Read by `simulation.faults`, which draws from it; `simulation.happenings` and the wires make them happen. The sentence
of each kind is what `ebbtide simulate --list` shows. No pool, hall or project is named here: a target is a word that
the facts of a region answer.
"""

from __future__ import annotations

from dataclasses import dataclass

MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one kind is drawn: `about` in a sentence, `per_day` on average, minutes long, `target` a word that `Facts`
    answers ("" where it has none), `size` from and to, in the unit that the sentence names.
    """

    about: str
    per_day: float
    minutes: tuple[float, float]
    target: str = ""
    size: tuple[int, int] = (0, 0)


CLOUD = {
    "reclaim": Recipe("a domain takes SIZE % of its hosts back, with notice", 6.0, (10, 60), "domain", (20, 80)),
    "hall_wave": Recipe("a whole hall takes SIZE % of its hosts back, with notice", 1.0, (15, 60), "hall", (50, 100)),
    "two_halls": Recipe("two halls take SIZE % of their hosts back at once", 0.4, (15, 50), "two_halls", (60, 100)),
    "drought": Recipe(
        "every hall takes SIZE % of its hosts back, and gives none for a while", 1.0, (40, 150), "all_halls", (70, 100)
    ),
    "power_wave": Recipe("a power domain loses SIZE % of its hosts without notice", 0.4, (15, 60), "power", (60, 100)),
    "withdrawn": Recipe(
        "a domain gives notice to SIZE % of its hosts, and takes it back", 1.2, (5, 20), "domain", (30, 90)
    ),
    "host_loss": Recipe(
        "SIZE % of a domain's hosts die without notice; the event stream says so", 1.0, (20, 90), "any_domain", (10, 60)
    ),
    "silent_loss": Recipe(
        "SIZE % of a domain's hosts vanish, and nothing says so", 0.8, (20, 90), "any_domain", (10, 60)
    ),
    "maintenance": Recipe("a domain's hosts are maintained one after another", 0.6, (20, 60), "domain", (2, 4)),
    "migration": Recipe("SIZE % of a domain's servers migrate to another aggregate", 0.8, (1, 1), "domain", (10, 80)),
    "drill": Recipe("SIZE hosts of a domain are drilled", 0.6, (3, 6), "domain", (1, 1)),
    "false_advisory": Recipe("a domain warns of a reclaim that never comes", 0.8, (20, 60), "domain"),
    "boots_fail": Recipe("SIZE % of the boots end in ERROR", 0.7, (5, 40), "", (20, 90)),
    "boots_hang": Recipe("SIZE % of the boots never end", 0.4, (5, 30), "", (20, 60)),
    "never_joins": Recipe("SIZE % of the servers that boot never become nodes", 0.7, (5, 40), "", (10, 60)),
    "rate_change": Recipe("every rate of the card changes", 1.0, (1, 1)),
    "quota_cut": Recipe("a project's quota leaves room for SIZE instances more", 0.7, (10, 60), "project", (0, 6)),
    "quota_lie": Recipe(
        "a project's quota is cut to SIZE more, and the quota call says otherwise", 0.5, (10, 40), "project", (0, 4)
    ),
    "strangers": Recipe("SIZE servers of others appear in our projects", 0.6, (1, 1), "project", (1, 4)),
    "no_client_token": Recipe("a create that is asked again makes a second server", 1.2, (20, 120)),
    "create_doubled": Recipe(
        "SIZE % of the creates lose their answer on the way, are sent again there and make a second server",
        0.6,
        (10, 60),
        "",
        (10, 60),
    ),
}

NODES = {
    "notice_lost": Recipe("SIZE % of the notices never reach their node", 0.8, (10, 60), "", (30, 100)),
    "notice_doubled": Recipe("every notice reaches its node twice", 0.8, (10, 90)),
    "notice_late": Recipe("notices reach their node up to SIZE seconds late", 0.8, (10, 60), "", (5, 110)),
    "notice_reordered": Recipe(
        "notices and withdrawals overtake each other by up to SIZE seconds", 0.8, (10, 90), "", (5, 60)
    ),
    "notice_forged": Recipe("SIZE nodes hear notices that are another instance's", 0.8, (1, 1), "", (1, 6)),
    "agent_dead": Recipe("SIZE % of a domain's agents are dead before any notice", 0.6, (20, 240), "domain", (20, 100)),
    "agent_killed": Recipe(
        "SIZE % of the drains lose their agent half way; it comes back", 1.0, (10, 90), "", (30, 100)
    ),
    "scheduler_silent": Recipe("a cluster's scheduler does not answer", 0.9, (3, 45), "cluster"),
    "scheduler_stale": Recipe("the schedulers show what was when it began, and say so", 0.5, (5, 30)),
    "scheduler_forgets": Recipe(
        "a cluster's scheduler answers, and shows SIZE % fewer nodes", 0.4, (3, 15), "cluster", (10, 100)
    ),
}

TALK = {
    "signals_lost": Recipe("SIZE % of the provider's notices never come in its stream", 0.7, (10, 60), "", (30, 100)),
    "signals_doubled": Recipe("the provider repeats everything that it ever said", 0.7, (10, 60)),
    "signals_late": Recipe("the provider's stream says nothing new for a while", 0.7, (3, 20)),
    "signals_reordered": Recipe("the provider's stream comes backwards", 0.7, (10, 60)),
    "signals_forged": Recipe(
        "the provider's stream names servers that are not ours or are not", 0.7, (5, 20), "", (1, 5)
    ),
    "signals_silent": Recipe("the provider's stream does not answer", 0.7, (5, 40)),
    "listing_partial": Recipe("one project is listed SIZE % only, and says so", 0.9, (3, 30), "project", (0, 90)),
    "listing_stale": Recipe("listings stay as they were, and say since when", 0.7, (4, 30)),
    "listing_lying": Recipe("listings stay as they were, and call themselves new", 0.7, (2, 15)),
    "listing_half": Recipe(
        "listings lack SIZE % of the rows, and call themselves complete", 0.8, (1, 12), "", (4, 100)
    ),
    "listing_doubled": Recipe("listings show SIZE % of the servers twice", 0.6, (3, 20), "", (5, 50)),
    "listing_no_id": Recipe("SIZE % of the rows have no id", 0.6, (1, 12), "", (1, 20)),
    "listing_garbled": Recipe("SIZE % of the rows lack their pool or say UNKNOWN", 0.6, (2, 20), "", (5, 60)),
    "rates_silent": Recipe("the rate card does not answer", 0.6, (20, 150)),
    "forward_silent": Recipe("forward capacity does not answer", 0.4, (5, 60)),
    "quota_silent": Recipe("the quota does not answer", 0.4, (5, 60)),
    "api_down": Recipe("the provider answers nothing", 0.9, (2, 60)),
    "api_slow": Recipe("each call takes up to SIZE seconds", 0.9, (3, 20), "", (1, 20)),
    "api_fails": Recipe("SIZE % of the calls fail and change nothing", 1.2, (5, 60), "", (10, 70)),
    "api_garbles": Recipe("SIZE % of the calls fail in ways that nobody listed", 0.7, (3, 30), "", (10, 60)),
    "api_lies": Recipe(
        "SIZE % of the calls that change something answer success and do nothing", 0.8, (3, 30), "", (10, 60)
    ),
    "answer_lost": Recipe(
        "SIZE % of the calls that change something take effect and their answer is lost", 1.4, (5, 60), "", (20, 100)
    ),
    "api_late": Recipe(
        "SIZE % of the calls that change something take effect after they were given up", 0.8, (5, 40), "", (20, 80)
    ),
    "race_lost": Recipe("SIZE % of the creates lose the race for the inventory", 0.6, (5, 30), "", (20, 90)),
}

MACHINE = {
    "crash": Recipe("the leader dies at its SIZEth call from then on, and starts again", 3.0, (3, 12), "side", (1, 60)),
    "crash_midway": Recipe(
        "the leader dies at its SIZEth change from then on, and starts again", 0.8, (20, 90), "side", (1, 6)
    ),
    "empty_disk": Recipe(
        "the leader dies so, and starts on another machine with an empty disk", 0.7, (3, 15), "side", (1, 40)
    ),
    "journal_damaged": Recipe(
        "the leader dies so, and its journal is damaged; a person moves it away", 0.4, (3, 15), "side", (1, 40)
    ),
    "pause": Recipe(
        "the leader stands still from its SIZEth call on, and finishes it later", 1.2, (1, 20), "side", (1, 40)
    ),
    "pause_midway": Recipe(
        "the leader stands still from its SIZEth change on, and finishes it later", 0.6, (20, 90), "side", (1, 6)
    ),
    "guest_pause": Recipe(
        "the leader's machine stands still from its SIZEth call on, its monotonic clock with it",
        0.8,
        (1, 15),
        "side",
        (1, 40),
    ),
    "control_down": Recipe("both replicas are dead", 0.3, (20, 240)),
    "site_lost": Recipe(
        "both replicas, their disks and the lease store are gone; others start with nothing", 0.25, (5, 60)
    ),
    "standby_dies": Recipe("the replica that does not lead dies, and starts again", 0.6, (2, 60)),
    "clock_forward": Recipe("the leader's clock is SIZE seconds ahead", 0.6, (2, 45), "", (3, 90_000)),
    "clock_back": Recipe("the leader's clock is SIZE seconds behind", 0.6, (2, 45), "", (3, 90_000)),
    "disk_full": Recipe("nothing can be written on the leader's disk", 0.7, (3, 40)),
    "spool_stuck": Recipe("nobody takes events further", 0.6, (30, 240)),
    "store_silent": Recipe("the lease store answers nobody", 0.6, (1, 30)),
    "store_cut": Recipe("the lease store does not answer the leader", 0.6, (1, 20)),
    "store_lost": Recipe("everything in the lease store is gone", 0.5, (1, 1)),
    "store_restored": Recipe("the lease store is set back to what it held", 0.5, (10, 180)),
    "store_answer_lost": Recipe(
        "SIZE % of the store's writes take effect and their answer is lost", 0.6, (5, 40), "", (20, 80)
    ),
    "people_stop": Recipe("people stop the region and let it go on", 0.5, (5, 60)),
    "stop_midway": Recipe(
        "people stop the region while the leader waits for the answer to its SIZEth change, and let it go on",
        0.6,
        (20, 90),
        "",
        (1, 6),
    ),
}

FILES = {
    "git_unreachable": Recipe("Git does not answer", 0.7, (5, 120)),
    "git_rewritten": Recipe("the history in Git is another one", 0.5, (5, 60)),
    "git_unsigned": Recipe("a commit is offered that nobody signed", 0.5, (5, 60)),
    "git_older": Recipe("Git offers an older commit again", 0.6, (5, 90)),
    "commit_maxima": Recipe("a commit sets every maximum to SIZE %, and is taken back", 0.7, (30, 180), "", (60, 130)),
    "commit_floors": Recipe(
        "a commit adds SIZE units to a floor, and is taken back", 0.6, (30, 180), "workload", (1, 4)
    ),
    "commit_adoption": Recipe(
        "a commit hands SIZE servers of others over to us, and is taken back", 0.8, (6, 120), "domain", (1, 3)
    ),
    "commit_removal": Recipe("a commit removes a contract, and is taken back", 0.5, (20, 120), "workload"),
}

RECIPES: dict[str, Recipe] = {**CLOUD, **NODES, **TALK, **MACHINE, **FILES}
