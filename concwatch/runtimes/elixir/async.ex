defmodule Concwatch.Async do
  @moduledoc "A task as Elixir programs start one: `Task.async/1`, and a brutal kill to cancel it."

  @behaviour :cw_tasks

  @home :filename.dirname(:code.which(:elixir))

  @doc "Where the Elixir is that compiled this: `erl`, which runs it, does not know."
  def home, do: @home

  @impl true
  def runtime(otp), do: "Elixir #{System.version()} on OTP #{otp}"

  @impl true
  def start(body) do
    %Task{pid: pid, ref: ref} = Task.async(body)
    {pid, ref}
  end

  # Like Task.shutdown(task, :brutal_kill), but without a second process for each task: at the limit on
  # processes that one could not start, and nothing could be cancelled.
  @impl true
  def cancel(tasks) do
    for {pid, _ref} <- tasks do
      Process.unlink(pid)
      Process.exit(pid, :kill)
    end

    for {pid, ref} <- tasks do
      receive do
        {:DOWN, ^ref, :process, ^pid, reason} -> reason
      end
    end
  end
end
