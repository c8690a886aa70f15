"""Finished tasks that something references are estimated from some of a group's tasks."""

import pytest

from concwatch.portable.agent.basics.kept import MAX_SAMPLES, KeptTasks


class FakeTask:
    """A task that is done, or not."""

    def __init__(self, done=True):
        self.done = lambda: done


@pytest.mark.parametrize(
    ("every", "kept"), [(1, 10_000), (4, 2_500), (10**9, 0)], ids=["all", "some", "none"]
)
def test_each_sampled_task_stands_for_those_created_until_the_next(every, kept):
    tasks, history = KeptTasks(), []
    for number in range(1_000):
        task = FakeTask()
        tasks.add(task, 10 * number)
        if number % every == every - 1:
            history.append(task)
        del task
        assert tasks.count(10 * number + 1) <= 1.1 * (10 * number + 1)
    assert tasks.count(10_000) == pytest.approx(kept, rel=0.15)
    history.clear()
    assert tasks.count(10_000) == 0


def test_live_tasks_are_not_among_them_and_few_are_remembered():
    tasks = KeptTasks()
    live = [FakeTask(done=False) for _ in range(10 * MAX_SAMPLES)]
    for number, task in enumerate(live):
        tasks.add(task, number)
    assert tasks.count(len(live)) == 0
    assert len(tasks._samples) <= MAX_SAMPLES + 1
