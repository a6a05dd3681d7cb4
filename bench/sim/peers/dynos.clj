; 250 dynos behind one router in Timelike. Its own source is on the class path; so are the two
; functions that it takes from Incanter, in distributions.clj.
; usage: dynos.clj random|least REQUESTS
(ns dynos
  (:refer-clojure :exclude [time future])
  (:use timelike.scheduler timelike.node))

(let [[policy n] *command-line-args*
      n     (Integer/parseInt n)
      dyno  #(cable 2 (queue-exclusive (delay-fixed 20 (delay-exponential 100 (server :rails)))))
      lb    (if (= policy "least") lb-min-conn lb-random)
      node  (lb (pool 250 (dyno)))
      start (System/nanoTime)
      out   (with-out-str
              (def results @(future* (load-poisson n 1.5 req node))))
      secs  (/ (- (System/nanoTime) start) 1e9)
      half  (vec (sort (map latency (take (quot n 2) (drop (quot n 4) results)))))
      q     #(double (nth half (int (* (count half) %))))]
  (println (str "{\"requests\":" n ",\"seconds\":" secs ",\"median\":" (q 0.5) ",\"p95\":" (q 0.95) ",\"p99\":" (q 0.99) "}"))
  (System/exit 0))
