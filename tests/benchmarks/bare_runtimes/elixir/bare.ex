defmodule Bare do
  @moduledoc "Sleeping tasks of `Task.async/1`, each of which can be cancelled by its owner, who replaces them."

  @golden 0.6180339887498949

  @doc "Arguments: how many tasks, and from how many seconds to how many they sleep."
  def main do
    [count, least, to] = System.argv()
    {count, {least, ""}, {to, ""}} = {String.to_integer(count), Float.parse(least), Float.parse(to)}
    lengths = {1000 * least, 1000 * (to - least)}
    IO.puts("idle")
    IO.gets("")
    began = System.monotonic_time(:microsecond)
    tasks = for i <- 1..count, into: %{}, do: start(i, lengths)
    wait_until_asleep(Enum.max_by(tasks, fn {_ref, task} -> task.pid end) |> elem(1))
    IO.puts("live #{(System.monotonic_time(:microsecond) - began) / 1.0e6}")
    :erlang.garbage_collect()
    holder = self()
    spawn(fn -> listen(holder) end)
    hold(tasks, 0, count + 1, lengths)
  end

  defp start(i, {least, span}) do
    at = i * @golden
    length = ceil(least + span * (at - trunc(at)))
    task = Task.async(fn -> Process.sleep(length) end)
    {task.ref, task}
  end

  defp hold(tasks, ended, i, lengths) do
    receive do
      {ref, :ok} when is_reference(ref) ->
        Process.demonitor(ref, [:flush])
        {next, task} = start(i, lengths)
        hold(tasks |> Map.delete(ref) |> Map.put(next, task), ended + 1, i + 1, lengths)

      {:count, listener} ->
        send(listener, ended)
        hold(tasks, ended, i, lengths)
    end
  end

  defp listen(holder) do
    case IO.gets("") do
      :eof ->
        :erlang.halt(0, flush: false)

      _ ->
        send(holder, {:count, self()})

        receive do
          ended -> IO.puts("ended #{ended}")
        end

        listen(holder)
    end
  end

  defp wait_until_asleep(task) do
    case Process.info(task.pid, :status) do
      {:status, busy} when busy != :waiting ->
        :erlang.yield()
        wait_until_asleep(task)

      _ ->
        :ok
    end
  end
end
