"""Watch what one more thread, coroutine or pool job costs. This file imports nothing: workers load it."""
