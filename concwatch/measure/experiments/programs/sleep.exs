# As published: N Task.async processes that sleep ten seconds.
defmodule Sleep do
  def start(num_tasks) do
    tasks =
      for _ <- 1..num_tasks do
        Task.async(fn ->
          :timer.sleep(10000)
        end)
      end

    Task.await_many(tasks, :infinity)
  end
end

System.argv() |> List.first() |> String.to_integer() |> Sleep.start()
