"""Laws of effects, for any two estates that differ in any number of ways."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from repo_layout.change import Effects, changed, effects, things
from tests.change.edits import EDITS, edited, estate_of, reversed_files

some_edits = st.lists(st.sampled_from(sorted(EDITS)), unique=True, max_size=6)


@settings(max_examples=40)
@given(names=some_edits)
def test_an_estate_has_no_effect_on_itself(names: list[str]) -> None:
    estate = estate_of(edited(*(EDITS[name] for name in names)))
    again = estate_of(reversed_files(edited(*(EDITS[name] for name in reversed(names))).items()))
    assert effects(estate, again) == Effects()


@settings(max_examples=40)
@given(before=some_edits, after=some_edits)
def test_undoing_a_change_does_the_opposite(before: list[str], after: list[str]) -> None:
    base, head = (estate_of(edited(*(EDITS[name] for name in names))) for names in (before, after))
    forth, back = effects(base, head), effects(head, base)
    assert back == forth.mirrored()
    assert forth.mirrored().mirrored() == forth
    assert changed(things(base), things(head)) == changed(things(head), things(base))


@settings(max_examples=40)
@given(before=some_edits, after=some_edits, data=st.data())
def test_the_order_of_files_and_edits_makes_no_difference(
    before: list[str], after: list[str], data: st.DataObject
) -> None:
    base = estate_of(edited(*(EDITS[name] for name in before)))
    files = edited(*(EDITS[name] for name in after))
    shuffled = edited(*(EDITS[name] for name in data.draw(st.permutations(after))))
    order = data.draw(st.permutations(sorted(shuffled)))
    assert effects(base, estate_of(files)) == effects(base, estate_of({path: shuffled[path] for path in order}))


@settings(max_examples=40)
@given(before=some_edits, after=some_edits)
def test_whoever_is_in_an_effect_is_touched_by_a_change(before: list[str], after: list[str]) -> None:
    base, head = (estate_of(edited(*(EDITS[name] for name in names))) for names in (before, after))
    found = effects(base, head)
    assert {thing.key for thing in found.things} == {
        key for key in changed(things(base), things(head)) if not key.startswith("aggregate/")
    }
    assert (found == Effects()) == (not changed(things(base), things(head)))
