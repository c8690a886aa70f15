defmodule Bare do
  @moduledoc "So many sleeping tasks of `Task.async/1`, as a plain Elixir program has them."

  def main do
    [number] = System.argv()
    before = rss()
    began = System.monotonic_time(:microsecond)

    tasks =
      for _ <- 1..String.to_integer(number), do: Task.async(fn -> Process.sleep(600_000) end)

    last = List.last(tasks)
    wait_until_asleep(last.pid)
    seconds = (System.monotonic_time(:microsecond) - began) / 1.0e6
    # Do not count garbage from their creation.
    :erlang.garbage_collect()
    IO.puts(~s({"seconds": #{seconds}, "rss_before": #{before}, "rss": #{rss()}}))

    # As a program does later: cancel one.
    nil = Task.shutdown(last, :brutal_kill)
    System.halt(length(tasks) - String.to_integer(number))
  end

  defp wait_until_asleep(pid) do
    case Process.info(pid, :status) do
      {:status, :waiting} ->
        :ok

      _ ->
        :erlang.yield()
        wait_until_asleep(pid)
    end
  end

  defp rss do
    [_, pages | _] = "/proc/self/statm" |> File.read!() |> String.split()
    String.to_integer(pages) * 4096
  end
end
