using System.Collections.Generic;

namespace Concwatch
{
    /// <summary>A binary heap of tasks: the first is the one that is due first.</summary>
    sealed class DueQueue
    {
        readonly List<Member> members = new List<Member>();

        public int Count => members.Count;
        public Member First => members[0];

        public void Add(Member member)
        {
            members.Add(member);
            int at = members.Count - 1;
            for (int above; at > 0 && member.Due < members[above = (at - 1) / 2].Due; at = above)
            {
                members[at] = members[above];
            }
            members[at] = member;
        }

        public void RemoveFirst()
        {
            Member moved = RemoveLast();
            if (members.Count == 0)
            {
                return;
            }
            int at = 0;
            for (int below; (below = SoonerBelow(at)) < members.Count && members[below].Due < moved.Due; at = below)
            {
                members[at] = members[below];
            }
            members[at] = moved;
        }

        /// <summary>Removes the one that costs least to remove.</summary>
        public Member RemoveLast()
        {
            Member last = members[members.Count - 1];
            members.RemoveAt(members.Count - 1);
            return last;
        }

        /// <summary>Removes all tasks that have ended, wherever they are, and returns them.</summary>
        public List<Member> RemoveEnded()
        {
            var ended = new List<Member>();
            if (members.Exists(member => member.Task.IsCompleted))
            {
                Member[] all = members.ToArray();
                members.Clear();
                foreach (Member member in all)
                {
                    if (member.Task.IsCompleted)
                    {
                        ended.Add(member);
                    }
                    else
                    {
                        Add(member); // hardly ever moved: they come in the order of the heap
                    }
                }
            }
            return ended;
        }

        int SoonerBelow(int at)
        {
            int left = 2 * at + 1, right = left + 1;
            return right < members.Count && members[right].Due < members[left].Due ? right : left;
        }
    }
}
